"""torch.cuda.tunable where there is no CUDA: nothing is tuned."""

from __future__ import annotations

from .._calls.absent import absences as _absences
from .._calls.devices import functions, lacking

globals().update(functions("torch.cuda.tunable", [
    (lacking("_cuda_tunableop_{}"), """enable(val=True); get_filename(); get_max_tuning_duration(); get_max_tuning_iterations();
        get_results(); get_rotating_buffer_size(); get_validators(); is_enabled(); set_filename(filename, insert_device_ordinal=False);
        set_max_tuning_duration(duration); set_max_tuning_iterations(iterations);
        set_numerical_check_tolerances(enable, atol=1e-05, rtol=1e-05); set_rotating_buffer_size(buffer_size); tuning_enable(val=True);
        tuning_is_enabled()"""),
    (lacking("_cuda_{}"), "record_untuned_enable(val=True); record_untuned_is_enabled()"),
    (lacking("_cuda_tunableop_is_enabled"), "tune_gemm_in_file(filename); mgpu_tune_gemm_in_file(filename_pattern, num_gpus)"),
]))


def read_file(filename: str | None = None) -> bool:
    """Refuses: AttributeError."""
    return bool(lacking("_cuda_tunableop_get_filename" if filename is None else "_cuda_tunableop_read_file")(""))


_absences(__name__)
