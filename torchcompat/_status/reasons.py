"""Why names of torch's are not here, and what to use in their place.

A name stands for itself and all below it, `*` for any letters but a dot. The longest name that fits counts. A module that is here stands
for what it lacks. `tests/core/test_status.py` holds that every absent name has a reason, and that no reason stands for what is there.
"""

from __future__ import annotations

from typing import NamedTuple


class Reason(NamedTuple):
    """Why some names are absent, and what to use."""

    why: str
    use: str
    names: str
    """After `torch.`, separated by spaces."""

    def __str__(self) -> str:
        return f"{self.why}; {self.use}" if self.use else self.why


GROUPS = (
    Reason("programs of TorchScript are carried out as they stand, there is no compiler", "`torch.jit.script`, `torch.jit.trace`", """
        jit AggregationType AVG SUM AliasDb *Type Argument ArgumentSpec BenchmarkConfig BenchmarkExecutionStats Block BufferDict CallStack
        Capsule Code CompilationUnit CompleteArgumentSpec ConcreteModuleTypeBuilder DeepCopyMemoTable DeserializationStorageContext
        ErrorReport ExecutionPlan FatalError FileCheck FunctionSchema Gradient Graph GraphExecutorState IODescriptor JITException
        LiteScriptModule LockingLogger LoggerBase ModuleDict Node NoopLogger OperatorInfo ParameterDict PyTorchFileReader.*
        Script* SerializationStorageContext StaticModule ThroughputBenchmark TracingState Use Value fork wait
        import_ir_module import_ir_module_from_buffer merge_type_from_type_comment parse_ir parse_schema parse_type_comment
        unify_type_list utils.mobile_optimizer utils.model_dump utils.bundled_inputs utils.show_pickle
        utils.jit"""),
    Reason("there is no compiler, operations run when they are called",
           "leave it out, or see `autograd_tape.trace`, which replays a function as one", """
        compiler.* export.* fx.* nativert func.rearrange PRIVATE_OPS
        autograd.graph.region_activation_memory_budget"""),
    Reason("models are exported to ONNX from their runs", "`torch.onnx.export`, and `torch.onnx.register_custom_op_symbolic`", """
        onnx.InputObserver onnx.operators onnx.ops onnx.symbolic_opset*"""),
    Reason("there is one device, the CPU, and no library of another", "leave them out, `is_available()` says that it is not there", """
        cudnn_* miopen_* backends.cuda backends.xeon backends.python_native
        profiler_allow_cudagraph_cupti_lazy_reinit_cuda12 batch_norm_backward_elemt
        batch_norm_backward_reduce batch_norm_elemt batch_norm_gather_stats batch_norm_gather_stats_with_counts batch_norm_stats
        batch_norm_update_stats Tensor.record_stream nn.utils.rnn.PackedSequence.cuda nn.utils.rnn.PackedSequence.pin_memory
        multiprocessing.reductions.rebuild_cuda_tensor multiprocessing.reductions.rebuild_event multiprocessing.reductions.reduce_event
        storage.TypedStorage.hpu utils.backend_registration
        utils.generate_methods_for_privateuse1_backend utils.rename_privateuse1_backend autograd.profiler.load_nvprof
        autograd.profiler.parse_nvprof_trace autograd.graph.set_override_stale_capture_stream
        autograd.graph.set_warn_on_accumulate_grad_stream_mismatch autograd.grad_mode.enforce_grad_layout_policy
        autograd.enforce_grad_layout_policy"""),
    Reason("torch has no kernel of it for the CPU", "`torch.nn.functional.scaled_mm` for each group", "nn.functional.scaled_grouped_mm"),
    Reason("there are no quantized tensors, their dtypes are names", "compute in floating point", """
        ao quantization nn.intrinsic nn.qat nn.quantizable nn.quantized choose_qparams_optimized dequantize empty_quantized
        fake_quantize_per_channel_affine fake_quantize_per_tensor_affine fbgemm_* fused_moving_avg_obs_fake_quant int_repr q_* qscheme
        quantize_per_* quantized_* Tensor.dequantize Tensor.int_repr Tensor.q_* Tensor.qscheme"""),
    Reason("there is no MKL-DNN", "tensors are strided, and operations the same without it", "mkldnn_* "),
    Reason("processes do not work on one model together", "`autograd_tape.sharding` shards tensors over processes of MPI",
           "distributed library.Library.register_symm_mem_args numa"),
    Reason("there are no nested tensors of layout torch.jagged", "leave out `layout`", """
        nested multiprocessing.reductions.rebuild_nested_tensor multiprocessing.reductions.reduce_nested_tensor"""),
    Reason("there are no named dimensions", "count them", "Tensor.name"),
    Reason("torch took it out, and refuses", "weigh log-probabilities by rewards", "Tensor.reinforce"),
    Reason("an operation that torch keeps to itself", "the function of `torch.nn.functional` by nearly the same name", """
        adaptive_max_pool1d affine_grid_generator binary_cross_entropy_with_logits cosine_embedding_loss ctc_loss embedding_bag
        hinge_embedding_loss kl_div margin_ranking_loss native_channel_shuffle native_norm poisson_nll_loss
        triplet_margin_loss frobenius_norm norm_except_dim nn.functional.native_channel_shuffle"""),
    Reason("not built yet", "", """
        sparse.SparseSemiStructuredTensor* sparse.to_sparse_semi_structured sparse.as_sparse_gradcheck sparse.solve
        sparse.semi_structured nn.attention.experimental
        Tensor.grad_dtype Tensor.index"""),
    Reason("torch itself advises against it", "`reshape`, or `resize_` in place", "Tensor.resize Tensor.resize_as"),
    Reason("copies are made of the values", "`.values().clone()`, `.indices().clone()` and their kin", """
        ccol_indices_copy col_indices_copy crow_indices_copy indices_copy row_indices_copy values_copy detach_copy slice_inverse
        Tensor.slice_inverse"""),
    Reason("data pipes have no data frames, decoders and snapshots", "the other pipes of `torch.utils.data.datapipes`",
           "utils.data.datapipes"),
    Reason("a tool for torch's own sources and builds", "", """
        utils.benchmark
        utils.hipify utils.viz utils.cmake_prefix_path utils.cpp_backtrace utils.get_cpp_backtrace
        utils.debug_log nn.cpp contrib get_file_path
        nn.backends linalg.common_notes"""),
    Reason("checkpoints compute everything again", "`torch.utils.checkpoint.checkpoint` with all its other options", """
        utils.checkpoint"""),
    Reason("the profiler notes operations in Python", "`torch.profiler.profile`, its tables and traces", """
        profiler autograd.profiler autograd.profiler_util autograd.profiler_legacy"""),
    Reason("tensors are sent by one strategy", "`torch.multiprocessing`", "multiprocessing"),
    Reason("a part of torch's own machinery, which is another here", "", """
        ExcludeDispatchKeyGuard StorageBase prepare_multiprocessing_environment set_anomaly_enabled
        thread_safe_generator init_num_threads overrides utils.data
        nn.modules nn.functional autograd return_types signal DispatchKeySet
        classproperty"""),
    Reason("torch itself advises against it", "`torch.arange`, `@`, `torch.from_dlpack`", "spmm "),
)
"""The more special ones may stand anywhere."""
