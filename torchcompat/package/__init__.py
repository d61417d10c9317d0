"""torch.package: archives of Python code, objects and data, from which a program loads a model with the code that it needs.

`PackageExporter` follows what a program imports, and puts the source of each module into the archive, leaves it outside, or replaces it;
`PackageImporter` loads modules and objects of an archive beside those of the process. Who loads a package runs its code.

>>> import io
>>> import torchcompat as torch
>>> from torchcompat.package import PackageExporter, PackageImporter
>>> file = io.BytesIO()
>>> with PackageExporter(file) as exporter:
...     exporter.save_source_string("greeting", "text = 'hello'")
...     exporter.save_pickle("model", "weights.pkl", {"w": torch.ones(2)})
>>> importer = PackageImporter(io.BytesIO(file.getvalue()))
>>> importer.import_module("greeting").text, importer.load_pickle("model", "weights.pkl")
('hello', {'w': tensor([1., 1.])})
"""

from .._calls.absent import on_demand as _on_demand
from .analyze.is_from_package import is_from_package as is_from_package
from .file_structure_representation import Directory as Directory
from .glob_group import GlobGroup as GlobGroup
from .importer import (
    Importer as Importer, ObjMismatchError as ObjMismatchError, ObjNotFoundError as ObjNotFoundError, OrderedImporter as OrderedImporter,
    sys_importer as sys_importer,
)
from .package_exporter import EmptyMatchError as EmptyMatchError, PackageExporter as PackageExporter, PackagingError as PackagingError
from .package_importer import PackageImporter as PackageImporter

_on_demand(__name__)
