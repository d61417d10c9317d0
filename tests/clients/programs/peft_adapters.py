"""Adapters of a small network and of a small Llama: fourteen kinds, each trained, saved, loaded, merged and taken off again; several at
once, switched, weighted and added; prompts and prefixes; an encoder with a new head; text written through an adapter."""

import tempfile
from pathlib import Path

import peft
import torch
from transformers import BertConfig, BertForSequenceClassification, LlamaConfig, LlamaForCausalLM

PACKAGES = ("peft", "transformers")


class Network(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second, self.head = torch.nn.Linear(8, 16), torch.nn.Linear(16, 16), torch.nn.Linear(16, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(torch.relu(self.second(torch.relu(self.first(x)))))


NAMES = {"target_modules": ["first", "second"], "modules_to_save": ["head"]}
KINDS = {
    "lora": peft.LoraConfig(r=4, lora_alpha=8, lora_dropout=0.1, **NAMES), "dora": peft.LoraConfig(r=2, use_dora=True, **NAMES),
    "rslora": peft.LoraConfig(r=2, use_rslora=True, init_lora_weights="gaussian", **NAMES),
    "pissa": peft.LoraConfig(r=2, init_lora_weights="pissa", **NAMES), "olora": peft.LoraConfig(r=2, init_lora_weights="olora", **NAMES),
    "ia3": peft.IA3Config(feedforward_modules=["second"], **NAMES), "loha": peft.LoHaConfig(r=2, **NAMES),
    "lokr": peft.LoKrConfig(r=2, **NAMES), "oft": peft.OFTConfig(oft_block_size=4, **NAMES),
    "boft": peft.BOFTConfig(boft_block_size=4, **NAMES),
    "vera": peft.VeraConfig(r=2, **{**NAMES, "target_modules": ["second"]}), "fourierft": peft.FourierFTConfig(n_frequency=20, **NAMES),
    "hra": peft.HRAConfig(r=2, **NAMES), "ln": peft.LNTuningConfig(target_modules=["norm"], modules_to_save=["head"])}


def network() -> Network:
    torch.manual_seed(0)
    return Network()


def trained(model: torch.nn.Module, loss: object, steps: int = 4) -> list:
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], 1e-2)
    found = []
    for _ in range(steps):
        now = loss(model)
        now.backward()
        optimizer.step()
        optimizer.zero_grad()
        found.append(now.item())
    return found


def data() -> tuple:
    generator = torch.Generator().manual_seed(1)
    return torch.randn(16, 8, generator=generator), torch.randint(0, 3, (16,), generator=generator)


def loss(model: torch.nn.Module) -> torch.Tensor:
    x, y = data()
    return torch.nn.functional.cross_entropy(model(x), y)


def adapted(kind: str) -> list:
    base = network()
    if kind == "ln":
        base.second = torch.nn.Sequential()
        base.second.norm = torch.nn.LayerNorm(16)
    with torch.no_grad():
        plain = base(data()[0])
    model = peft.get_peft_model(base, KINDS[kind])
    with torch.no_grad():
        begun = model.eval()(data()[0])
    losses = trained(model.train(), loss)
    x, names = data()[0], [name for name, p in model.named_parameters() if p.requires_grad]
    with torch.no_grad(), tempfile.TemporaryDirectory() as folder:
        after = model.eval()(x)
        with model.disable_adapter():
            without = model(x)
        model.save_pretrained(folder)
        files = sorted(path.name for path in Path(folder).iterdir())
        state = peft.get_peft_model_state_dict(model)
        kept = {name: value for name, value in sorted(state.items())}
        if kind not in ("pissa", "olora", "ln"):  # these change the network itself
            again = peft.PeftModel.from_pretrained(network(), folder).eval()(x)
        else:
            again = after
        merged = model.merge_and_unload()
        return [model.get_nb_trainable_parameters() if hasattr(model, "get_nb_trainable_parameters") else 0, names, losses, plain, begun,
                after, without, torch.allclose(again, after, atol=1e-5), kept, files, type(merged).__name__, merged(x)]


def several() -> list:
    x = data()[0]
    model = peft.get_peft_model(network(), peft.LoraConfig(r=2, target_modules=["first", "second"]), adapter_name="one")
    model.add_adapter("two", peft.LoraConfig(r=4, target_modules=["second"], rank_pattern={"second": 3}, alpha_pattern={"second": 6}))
    found = []
    for name in ("one", "two"):
        model.set_adapter(name)
        found.append(trained(model, loss))
    for way in ("linear", "svd", "cat", "ties", "dare_linear", "magnitude_prune"):
        torch.manual_seed(3)
        model.base_model.set_adapter("one")
        if way in ("linear", "ties", "dare_linear", "magnitude_prune"):
            model.add_adapter("three", peft.LoraConfig(r=2, target_modules=["first",
                "second"])) if "three" not in model.peft_config else None
            names = ["one", "three"]
        else:
            names = ["one", "two"]
        more = {"density": 0.5} if way in ("ties", "dare_linear", "magnitude_prune") else {}
        model.add_weighted_adapter(names, [0.7, 0.3], way, way, **more)
        model.set_adapter(way)
        found.append(model.eval()(x).detach())
    model.delete_adapter("cat")
    model.set_adapter("two")
    mixed = model(x, adapter_names=["one", "two", "__base__"] * 5 + ["one"]).detach()
    return [found, mixed, model.active_adapters, sorted(model.peft_config), repr(model).splitlines()[:30]]


def rank_moved() -> list:
    model = peft.get_peft_model(network(), peft.AdaLoraConfig(
        init_r=4, target_r=2, tinit=1, tfinal=1, deltaT=1, total_step=6, target_modules=["first", "second"]))
    optimizer, found = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], 5e-2), []
    for step in range(6):
        now = loss(model) + sum(p.square().sum() for name, p in model.named_parameters() if "lora_E" in name)
        now.backward()
        optimizer.step()
        model.base_model.update_and_allocate(step)
        optimizer.zero_grad()
        found.append(now.item())
    return [found, {name: p.detach() for name, p in model.named_parameters() if "lora_E" in name}, model.eval()(data()[0]).detach()]


def llama() -> LlamaForCausalLM:
    torch.manual_seed(0)
    return LlamaForCausalLM(LlamaConfig(
        vocab_size=40, hidden_size=16, intermediate_size=32, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
        max_position_embeddings=64, bos_token_id=1, eos_token_id=2, pad_token_id=0))


def text() -> torch.Tensor:
    return torch.randint(3, 40, (3, 10), generator=torch.Generator().manual_seed(2))


LANGUAGE = {
    "lora": peft.LoraConfig(r=4, target_modules="all-linear", task_type="CAUSAL_LM", bias="lora_only"),
    "embedding": peft.LoraConfig(r=2, target_modules=["embed_tokens", "q_proj"], task_type="CAUSAL_LM", layers_to_transform=[0]),
    "prefix": peft.PrefixTuningConfig(num_virtual_tokens=3, task_type="CAUSAL_LM"),
    "projected prefix": peft.PrefixTuningConfig(num_virtual_tokens=3, task_type="CAUSAL_LM", prefix_projection=True, encoder_hidden_size=8),
    "prompt": peft.PromptTuningConfig(num_virtual_tokens=3, task_type="CAUSAL_LM"),
    "p-tuning": peft.PromptEncoderConfig(num_virtual_tokens=3, task_type="CAUSAL_LM", encoder_hidden_size=8),
    "p-tuning by lstm": peft.PromptEncoderConfig(num_virtual_tokens=3, task_type="CAUSAL_LM", encoder_hidden_size=8,
                                                 encoder_reparameterization_type="LSTM"),
    "adaption": peft.AdaptionPromptConfig(adapter_len=3, adapter_layers=1, task_type="CAUSAL_LM"),
    "trainable tokens": peft.TrainableTokensConfig(token_indices=[5, 7], target_modules=["embed_tokens"], task_type="CAUSAL_LM")}


def language(kind: str) -> list:
    model = peft.get_peft_model(llama(), LANGUAGE[kind])
    losses = trained(model, lambda model: model(input_ids=text(), labels=text()).loss)
    gradients = {name: p.detach() for name, p in model.named_parameters() if p.requires_grad}
    with torch.no_grad(), tempfile.TemporaryDirectory() as folder:
        scores = model.eval()(input_ids=text()).logits
        written = model.generate(input_ids=text()[:, :4], attention_mask=torch.ones(3, 4, dtype=torch.long), max_new_tokens=5)
        model.save_pretrained(folder)
        again = peft.PeftModel.from_pretrained(llama(), folder).eval()(input_ids=text()).logits
    return [model.get_nb_trainable_parameters(), losses, gradients, scores, written.tolist(), torch.allclose(scores, again, atol=1e-5)]


def classified() -> list:
    torch.manual_seed(0)
    model = BertForSequenceClassification(BertConfig(
        vocab_size=40, hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32, num_labels=3,
        hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0))
    model = peft.get_peft_model(model, peft.LoraConfig(r=2, task_type="SEQ_CLS", target_modules=["query", "value"]))
    losses = trained(model, lambda model: model(input_ids=text(), labels=torch.tensor([0, 2, 1])).loss)
    half = model.merge_and_unload(safe_merge=True).to(torch.bfloat16)
    return [losses, half(input_ids=text()).logits.float().round(decimals=1)]


def convolved() -> list:
    torch.manual_seed(0)
    base = torch.nn.Sequential(torch.nn.Conv2d(2, 4, 3), torch.nn.ReLU(), torch.nn.Conv2d(4, 3, 3))
    x = torch.randn(2, 2, 8, 8)
    found = {}
    for name, config in {"lora": peft.LoraConfig(r=2, target_modules=["0", "2"]),
                         "dora": peft.LoraConfig(r=2, target_modules=["0"], use_dora=True),
                         "loha": peft.LoHaConfig(r=2, target_modules=["0"], use_effective_conv2d=True),
                         "lokr": peft.LoKrConfig(r=2, target_modules=["0"], use_effective_conv2d=True),
                         "ia3": peft.IA3Config(target_modules=["2"], feedforward_modules=[])}.items():
        model = peft.get_peft_model(base, config)
        found[name] = [trained(model, lambda model: model(x).square().mean()), model.merge_and_unload()(x).detach()]
        base = model.unload() if hasattr(model, "unload") else base
    return [found]


def refused() -> list:
    found = []
    for call in (lambda: peft.get_peft_model(network(), peft.LoraConfig(target_modules=["nothing"])),
                 lambda: peft.get_peft_model(network(), peft.LoraConfig(r=0, target_modules=["first"])),
                 lambda: peft.get_peft_model(network(), peft.LoraConfig(target_modules=["first"])).set_adapter("other")):
        try:
            call()
        except Exception as error:
            found.append([type(error).__name__, str(error)[:120]])
    return found


CASES = {**{kind: lambda kind=kind: adapted(kind) for kind in KINDS}, "adalora": rank_moved, "several": several,
         **{f"language: {kind}": lambda kind=kind: language(kind) for kind in LANGUAGE},
         "classes": classified, "convolutions": convolved, "refused": refused}
