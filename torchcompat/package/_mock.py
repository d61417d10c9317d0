"""What stands for the objects of a module that was left out of a package. (This file is put into packages as it is.)"""


class MockedObject:
    """An object that can be named, and refuses everything else."""

    _name: str

    def __new__(cls, *args, **kwargs):
        if not kwargs.get("_suppress_err"):
            raise NotImplementedError(
                f"Object '{cls._name}' was mocked out during packaging but it is being used in '__new__'. If this error is happening "
                "during 'load_pickle', please ensure that your pickled object doesn't contain any mocked objects.")
        return super().__new__(cls)

    def __init__(self, name: str, _suppress_err: bool) -> None:
        self.__dict__["_name"] = name

    def __repr__(self) -> str:
        return f"MockedObject({self._name})"


def _refusing(method):
    def refuse(self, *args, **kwargs):
        raise NotImplementedError(f"Object '{self._name}' was mocked out during packaging but it is being used in {method}")

    return refuse


for _name in (
        "abs add and bool bytes call ceil complex contains copy deepcopy delattr delitem dir divmod enter eq exit float floor floordiv ge "
        "getattr getitem getstate gt hash iadd iand ifloordiv ilshift imod imul index instancecheck int invert ior ipow irshift isub iter "
        "itruediv ixor le len lshift lt mod mul ne neg or pos pow rand rdivmod reduce reversed rmul round rrshift rshift setattr setitem "
        "sizeof sub subclasscheck truediv trunc xor").split():
    setattr(MockedObject, f"__{_name}__", _refusing(f"__{_name}__"))
