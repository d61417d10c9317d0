"""Module itself: attributes, state dicts, hooks, moves, copies; error texts are torch's."""

from __future__ import annotations

import copy
import pickle
import re
import warnings
from collections import OrderedDict
from typing import Any

import pytest

import torchcompat as torch
from torchcompat import nn


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(3, 4)
        self.second = nn.Linear(4, 2, bias=False)
        self.scale = nn.Parameter(torch.ones(2))
        self.register_buffer("seen", torch.zeros(1))
        self.register_buffer("scratch", torch.zeros(1), persistent=False)

    def forward(self, x, factor=1):
        return self.second(torch.relu(self.first(x))) * self.scale * factor


def raises(error: type[Exception], text: str):
    return pytest.raises(error, match=f"^{re.escape(text)}$")


# -- attributes -------------------------------------------------------------------------------------------------------


def test_registration_by_assignment():
    net = Net()
    assert [name for name, _ in net.named_parameters()] == ["scale", "first.weight", "first.bias", "second.weight"]
    assert [name for name, _ in net.named_buffers()] == ["seen", "scratch"]
    assert [name for name, _ in net.named_children()] == ["first", "second"]
    assert "scale" not in net.__dict__ and net.scale is net._parameters["scale"]
    net.seen = torch.ones(1)
    assert net._buffers["seen"].item() == 1
    net.extra = nn.Buffer(torch.ones(2), persistent=False)
    assert isinstance(net.extra, nn.Buffer) and "extra" not in net.state_dict()
    net.first = None
    assert net._modules["first"] is None and len(list(net.children())) == 1
    del net.scale
    assert not hasattr(net, "scale")


def test_assignment_moves_a_name_between_tables():
    m = nn.Module()
    m.x = torch.ones(1)
    assert "x" in m.__dict__
    m.x = nn.Parameter(torch.ones(1))
    assert "x" not in m.__dict__ and "x" in m._parameters
    with raises(TypeError, "cannot assign 'torch.nn.modules.linear.Linear' as parameter 'x' (torch.nn.Parameter or None expected)"):
        m.x = nn.Linear(1, 1)
    m.y = nn.Linear(1, 1)
    m.y = nn.Parameter(torch.ones(1))
    assert "y" not in m._modules and "y" in m._parameters
    m.register_buffer("z", torch.ones(1), persistent=False)
    m.z = nn.Linear(1, 1)
    assert "z" not in m._buffers and "z" not in m._non_persistent_buffers_set


def test_errors_of_attributes():
    m = nn.Linear(2, 2)
    with raises(TypeError, "cannot assign 'torch.FloatTensor' as parameter 'weight' (torch.nn.Parameter or None expected)"):
        m.weight = torch.ones(2, 2)
    with raises(AttributeError, "'Linear' object has no attribute 'nothing'"):
        _ = m.nothing
    with raises(KeyError, "'parameter name can\\'t contain \".\"'"):
        m.register_parameter("a.b", None)
    with raises(KeyError, "\"attribute 'in_features' already exists\""):
        m.register_buffer("in_features", None)
    with raises(TypeError, "cannot assign 'int' object to buffer 'b' (torch Tensor or None required)"):
        m.register_buffer("b", 3)
    with raises(TypeError, "cannot assign 'torch.FloatTensor' object to parameter 'p' (torch.nn.Parameter or None required)"):
        m.register_parameter("p", torch.ones(1))
    with raises(TypeError, "int is not a Module subclass"):
        m.add_module("c", 3)
    with raises(TypeError, "Linear.__init__() missing 2 required positional arguments: 'in_features' and 'out_features'"):
        nn.Linear()
    with raises(TypeError, "Module.__init__() takes 1 positional argument but 2 were given"):
        nn.Module(3)

    class Early(nn.Module):
        def __init__(self):
            self.weight = nn.Parameter(torch.ones(1))

    with raises(AttributeError, "cannot assign parameters before Module.__init__() call"):
        Early()
    with raises(NotImplementedError, 'Module [Module] is missing the required "forward" function'):
        nn.Module()(1)


def test_lookup_by_dotted_name():
    net = nn.Sequential(OrderedDict(block=nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2))))
    assert net.get_submodule("block.0") is net.block[0] and net.get_submodule("") is net
    assert net.get_parameter("block.0.bias") is net.block[0].bias
    assert net.get_buffer("block.1.running_mean") is net.block[1].running_mean
    with raises(AttributeError, "Sequential has no attribute `7`"):
        net.get_submodule("block.7")
    with raises(AttributeError, "`in_features` is not an nn.Module"):
        net.get_submodule("block.0.in_features")
    with raises(AttributeError, "`weight` is not a buffer"):
        net.get_buffer("block.0.weight")
    net.set_submodule("block.0", nn.Identity())
    assert isinstance(net.block[0], nn.Identity)


def test_shared_modules_are_listed_once():
    layer = nn.Linear(2, 2)
    net = nn.ModuleList([layer, layer])
    assert [n for n, _ in net.named_parameters()] == ["0.weight", "0.bias"]
    assert len(list(net.named_parameters(remove_duplicate=False))) == 4
    assert [n for n, _ in net.named_modules(remove_duplicate=False)] == ["", "0", "1"]
    assert list(net.state_dict()) == ["0.weight", "0.bias", "1.weight", "1.bias"]


# -- state dicts ------------------------------------------------------------------------------------------------------


def test_state_dict_round_trip():
    a, b = Net(), Net()
    state = a.state_dict()
    assert list(state) == ["scale", "seen", "first.weight", "first.bias", "second.weight"]
    assert state._metadata[""] == {"version": 1} and "first" in state._metadata
    assert str(b.load_state_dict(state)) == "<All keys matched successfully>"
    x = torch.randn(2, 3)
    assert torch.equal(a(x), b(x))
    assert state["scale"].requires_grad is False and a.state_dict(keep_vars=True)["scale"] is a.scale
    assert list(a.state_dict(prefix="p."))[0] == "p.scale"


def test_load_state_dict_errors():
    net = Net()
    state = net.state_dict()
    state["first.weight"] = torch.ones(4, 5)
    state["other"] = torch.ones(1)
    del state["scale"]
    with pytest.raises(RuntimeError) as caught:
        net.load_state_dict(state)
    assert str(caught.value) == (
        'Error(s) in loading state_dict for Net:\n\tMissing key(s) in state_dict: "scale". \n\tUnexpected key(s) in state_dict: "other". '
        "\n\tsize mismatch for first.weight: copying a param with shape torch.Size([4, 5]) from checkpoint, the shape in current model is "
        "torch.Size([4, 3]).")
    del state["first.weight"]
    keys = net.load_state_dict(state, strict=False)
    assert keys.missing_keys == ["scale", "first.weight"] and keys.unexpected_keys == ["other"]
    with raises(TypeError, "Expected state_dict to be dict-like, got <class 'int'>."):
        net.load_state_dict(3)


def test_load_state_dict_assign():
    net = Net()
    state = {k: v.double() for k, v in net.state_dict().items()}
    net.load_state_dict(state, assign=True)
    assert net.first.weight.dtype is torch.float64 and isinstance(net.first.weight, nn.Parameter)
    assert net.first.weight.data_ptr() == state["first.weight"].data_ptr()


def test_state_dict_hooks():
    net, log = nn.Linear(1, 1), []
    net._register_state_dict_hook(lambda module, state, prefix, meta: log.append("post"))
    net.register_state_dict_pre_hook(lambda module, prefix, keep_vars: log.append("pre"))
    net.register_load_state_dict_pre_hook(lambda module, state, *rest: state.pop("extra", None))
    net.register_load_state_dict_post_hook(lambda module, keys: log.append(keys.missing_keys))
    state = net.state_dict()
    state["extra"] = torch.ones(1)
    net.load_state_dict(state)
    assert log == ["pre", "post", []]
    net.register_state_dict_post_hook(lambda *args: {})
    with raises(RuntimeError, "state_dict post-hook must return None"):
        net.state_dict()


def test_extra_state():
    class WithExtra(nn.Module):
        value = 1

        def get_extra_state(self):
            return {"value": self.value}

        def set_extra_state(self, state):
            self.value = state["value"]

    a, b = WithExtra(), WithExtra()
    a.value = 5
    state = a.state_dict()
    assert state["_extra_state"] == {"value": 5}
    b.load_state_dict(state)
    assert b.value == 5
    with pytest.raises(RuntimeError, match='Missing key.*"_extra_state"'):
        b.load_state_dict({})
    with pytest.raises(RuntimeError, match='Unexpected key.*"_extra_state"'):
        nn.Module().load_state_dict(state)


def test_old_batch_norm_states_have_no_batch_count():
    net = nn.BatchNorm1d(2)
    state = net.state_dict()
    del state["num_batches_tracked"], state._metadata
    assert not net.load_state_dict(state).missing_keys


# -- hooks ------------------------------------------------------------------------------------------------------------


def test_forward_hooks():
    net, log = Net(), []
    handles = [
        net.register_forward_pre_hook(lambda m, args: (args[0] + 1,)),
        net.register_forward_pre_hook(lambda m, args, kwargs: (args, {"factor": 3}), with_kwargs=True),
        net.register_forward_hook(lambda m, args, kwargs, out: log.append(kwargs), with_kwargs=True),
        net.register_forward_hook(lambda m, args, out: out * 2),
        net.register_forward_hook(lambda m, args, out: log.append("first"), prepend=True),
    ]
    x = torch.randn(2, 3)
    hooked = net(x)
    for handle in handles:
        handle.remove()
    assert torch.allclose(hooked, net(x + 1, factor=3) * 2)
    assert log == ["first", {"factor": 3}]


def test_always_called_hook_runs_after_an_error():
    class Broken(nn.Module):
        def forward(self, x):
            raise ZeroDivisionError("broken")

    net, log = Broken(), []
    net.register_forward_hook(lambda m, args, out: log.append(out), always_call=True)
    with pytest.raises(ZeroDivisionError):
        net(1)
    assert log == [None]


def test_global_hooks():
    log = []
    with nn.modules.module.register_module_forward_hook(lambda m, args, out: log.append(type(m).__name__)):
        Net()(torch.ones(1, 3))
    Net()(torch.ones(1, 3))
    assert log == ["Linear", "Linear", "Net"]
    with nn.modules.module.register_module_parameter_registration_hook(lambda m, name, p: log.append(name)):
        nn.Linear(1, 1)
    assert log[-2:] == ["weight", "bias"]


def test_full_backward_hooks():
    layer, log = nn.Linear(2, 2, bias=False), []

    def pre(module, grad_output):
        log.append("pre")
        return (grad_output[0] * 2,)

    def post(module, grad_input, grad_output):
        log.append(tuple(grad_output[0].shape))
        return (grad_input[0] * 10,)

    layer.register_full_backward_pre_hook(pre)
    layer.register_full_backward_hook(post)
    x = torch.ones(3, 2, requires_grad=True)
    layer(x).sum().backward()
    expected = torch.ones(3, 2) @ layer.weight.detach() * 20
    assert torch.allclose(x.grad, expected)
    assert torch.allclose(layer.weight.grad, torch.full((2, 2), 6.0))
    assert log == ["pre", (3, 2)]


def test_full_backward_hook_without_input_gradient():
    layer, log = nn.Linear(2, 2), []
    layer.register_full_backward_hook(lambda m, gi, go: log.append(gi))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        layer(torch.ones(1, 2)).sum().backward()
    assert log == [(None,)] and any("Full backward hook is firing" in str(w.message) for w in caught)


def test_backward_hook_kinds_exclude_each_other():
    layer = nn.Linear(1, 1)
    layer.register_full_backward_hook(lambda *args: None)
    with raises(RuntimeError, "Cannot use both regular backward hooks and full backward hooks on a single Module. Please use only one of "
                              "them."):
        layer.register_backward_hook(lambda *args: None)


# -- moves and modes --------------------------------------------------------------------------------------------------


def test_casts_keep_parameters_and_gradients():
    net = Net()
    net(torch.ones(1, 3)).sum().backward()
    weight = net.first.weight
    net.double()
    assert net.first.weight is weight and weight.dtype is weight.grad.dtype is torch.float64
    assert net.to(torch.float16).seen.dtype is torch.float16
    with raises(TypeError, "nn.Module.to only accepts floating point or complex dtypes, but got desired dtype=torch.int64"):
        net.to(torch.int64)
    bn = nn.BatchNorm1d(2).half()
    assert bn.num_batches_tracked.dtype is torch.int64


def test_meta_and_to_empty():
    layer = nn.Linear(2, 3, device="meta")
    assert layer.weight.is_meta
    layer.to_empty(device="cpu")
    assert not layer.weight.is_meta and layer.weight.shape == (3, 2) and isinstance(layer.weight, nn.Parameter)


def test_train_eval_and_gradients():
    net = Net()
    assert not net.eval().first.training and net.train().first.training
    with raises(ValueError, "training mode is expected to be boolean"):
        net.train(1)
    net(torch.ones(1, 3)).sum().backward()
    net.zero_grad(set_to_none=False)
    assert net.scale.grad.tolist() == [0, 0]
    net.zero_grad()
    assert net.scale.grad is None
    assert not any(p.requires_grad for p in net.requires_grad_(False).parameters())


def test_apply_visits_children_first():
    order = []
    nn.Sequential(nn.Linear(1, 1), nn.ReLU()).apply(lambda m: order.append(type(m).__name__))
    assert order == ["Linear", "ReLU", "Sequential"]


def test_copies():
    net = Net()
    for other in (copy.deepcopy(net), pickle.loads(pickle.dumps(net))):
        assert torch.equal(other.scale, net.scale) and other.scale is not net.scale
        assert isinstance(other.first.weight, nn.Parameter) and other.first.weight.requires_grad
        x = torch.randn(1, 3)
        assert torch.equal(other(x), net(x))
    assert copy.copy(net).scale is net.scale
    lstm = nn.LSTM(2, 3, bidirectional=True)
    for other in (copy.deepcopy(lstm), pickle.loads(pickle.dumps(lstm))):
        assert torch.equal(other(torch.ones(4, 1, 2))[0], lstm(torch.ones(4, 1, 2))[0])
        assert "_flat_weights" in other.__getstate__() and other.weight_ih_l0 is not lstm.weight_ih_l0


def test_layers_use_the_weights_that_they_are_given() -> None:
    lstm, x = nn.LSTM(2, 3), torch.ones(4, 1, 2)
    own = lstm(x)[0]
    lstm._flat_weights = [0 * p.detach() for p in lstm._flat_weights]
    assert lstm(x)[0].abs().sum() == 0 and copy.deepcopy(lstm)(x)[0].equal(own)
    lstm.weight_ih_l0 = lstm.weight_ih_l0
    assert lstm(x)[0].equal(own)
    lstm._flat_weights = [0 * p.detach() for p in lstm._flat_weights]
    assert lstm.float()(x)[0].equal(own)


def test_dir_and_repr():
    net = nn.Sequential(Net())
    assert "0" not in dir(net) and "seen" in dir(net[0])
    assert repr(net) == ("Sequential(\n  (0): Net(\n    (first): Linear(in_features=3, out_features=4, bias=True)\n"
                         "    (second): Linear(in_features=4, out_features=2, bias=False)\n  )\n)")


# -- containers -------------------------------------------------------------------------------------------------------


def test_sequential():
    a, b, c = nn.Linear(1, 2), nn.ReLU(), nn.Linear(2, 3)
    s = nn.Sequential(a, b)
    s.append(c)
    assert len(s) == 3 and s[-1] is c and [type(m) for m in s[1:]] == [nn.ReLU, nn.Linear]
    del s[1]
    assert list(s._modules) == ["0", "1"] and s[1] is c
    s.insert(1, b)
    assert [*s] == [a, b, c]
    assert len(s + s) == 6 and len(s * 2) == 6 and len(nn.Sequential(b).extend([b, b])) == 3
    s *= 2
    assert len(s) == 6 and s.pop(-1) is c
    with raises(IndexError, "index 9 is out of range"):
        s[9]


def test_module_list_and_dict():
    items = nn.ModuleList([nn.ReLU()])
    items += [nn.Tanh()]
    items.insert(0, nn.Sigmoid())
    assert [type(m).__name__ for m in items] == ["Sigmoid", "ReLU", "Tanh"]
    assert isinstance(items[:2], nn.ModuleList) and type(items.pop(1)) is nn.ReLU
    with raises(TypeError, "ModuleList.extend should be called with an iterable, but got int"):
        items.extend(3)
    table = nn.ModuleDict([["a", nn.ReLU()]])
    table.update({"b": nn.Tanh()})
    assert list(table) == ["a", "b"] and "a" in table and type(table.pop("a")) is nn.ReLU
    table.clear()
    assert len(table) == 0


def test_parameter_list_and_dict():
    items = nn.ParameterList([torch.ones(1)])
    items.append(torch.zeros(2))
    assert isinstance(items[1], nn.Parameter) and len(list(items.parameters())) == 2 and len(items[:1]) == 1
    table = nn.ParameterDict({"a": torch.ones(1)})
    table["b"] = torch.ones(2)
    assert list(table.keys()) == ["a", "b"] and isinstance(table.get("b"), nn.Parameter)
    assert set(dict(table.items())) == {"a", "b"} and (table | {"c": torch.ones(1)}).setdefault("c").shape == (1,)
    table.popitem()
    assert "b" not in table


# -- parameters -------------------------------------------------------------------------------------------------------


def test_parameter():
    data = torch.ones(2)
    p = nn.Parameter(data)
    assert p.requires_grad and p.is_leaf and p.data_ptr() == data.data_ptr() and isinstance(p, torch.Tensor)
    assert repr(p) == "Parameter containing:\ntensor([1., 1.], requires_grad=True)"
    assert not nn.Parameter(data, requires_grad=False).requires_grad
    assert type(p + 1) is torch.Tensor and type(p.data) is torch.Tensor
    with torch.no_grad():
        assert nn.Parameter(data).requires_grad
    flagged = torch.ones(1)
    flagged._is_param = True
    assert isinstance(flagged, nn.Parameter)
    assert nn.Parameter().shape == (0,)


def test_lazy_modules():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        lazy, conv, norm = nn.LazyLinear(3), nn.LazyConv2d(4, 3), nn.LazyBatchNorm1d()
    with pytest.raises(RuntimeError, match="Can't access the shape of an uninitialized parameter or buffer"):
        _ = lazy.weight.shape
    assert lazy(torch.ones(2, 5)).shape == (2, 3) and type(lazy) is nn.Linear and lazy.in_features == 5
    assert conv(torch.ones(1, 2, 5, 5)).shape == (1, 4, 3, 3) and type(conv) is nn.Conv2d
    assert norm(torch.randn(4, 6)).shape == (4, 6) and norm.running_mean.shape == (6,)


@pytest.mark.parametrize("make", [lambda: nn.Embedding(5, 3, sparse=True), lambda: nn.EmbeddingBag(5, 3, sparse=True, mode="sum")])
def test_the_gradient_of_a_sparse_table_has_the_rows_that_were_looked_up(make: Any) -> None:
    module, index = make(), torch.tensor([[0, 2]])
    for _ in range(2):
        module(index).sum().backward()
        assert module.weight.grad.is_sparse and set(module.weight.grad._indices().reshape(-1).tolist()) == {0, 2}
    assert module.weight.grad.to_dense().tolist() == [[2.0] * 3, [0.0] * 3, [2.0] * 3, [0.0] * 3, [0.0] * 3]
