"""Tiny models for transformers' common tests of models (`tests/test_modeling_common.py` of its source distribution).

The distribution has the common tests, not those of each model, which give them their models; nor two files that the common tests import:
those of exporting and of generating text, whose tests are left out. The variable NAMES says which architectures of
`programs/architectures.py` to test. `tests.clients.suites` copies this beside them.
"""

from __future__ import annotations

import os
import runpy
import sys
import unittest
from importlib import import_module
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import torch
import transformers
from transformers import AutoConfig
from transformers.models.auto import modeling_auto

HERE = Path(__file__).parent
tests = sys.modules["tests"] = ModuleType("tests")
tests.__path__ = [str(HERE / "tests")]  # type: ignore[attr-defined]
for lacking, mixin in (("exporters.test_export", "ExportTesterMixin"), ("generation.test_utils", "GenerationTesterMixin")):
    package = lacking.partition(".")[0]
    sys.modules[f"tests.{package}"], module = ModuleType(f"tests.{package}"), ModuleType(f"tests.{lacking}")
    setattr(module, mixin, type(mixin, (), {}))
    sys.modules[f"tests.{lacking}"] = module
common = import_module("tests.test_modeling_common")
ARCHITECTURES = runpy.run_path(os.environ["ARCHITECTURES"], run_name="architectures")
SIZES = {**ARCHITECTURES["MASKED"], **ARCHITECTURES["CAUSAL"], **ARCHITECTURES["TRANSLATING"]}
KINDS = """MODEL MODEL_FOR_PRETRAINING MODEL_FOR_MASKED_LM MODEL_FOR_CAUSAL_LM MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM
    MODEL_FOR_SEQUENCE_CLASSIFICATION MODEL_FOR_TOKEN_CLASSIFICATION MODEL_FOR_QUESTION_ANSWERING MODEL_FOR_MULTIPLE_CHOICE
    MODEL_FOR_NEXT_SENTENCE_PREDICTION""".split()
BATCH, LENGTH = 3, 7
transformers.logging.set_verbosity_warning()  # which tests look at, and the program of architectures has silenced


class Common(common.ModelTesterMixin):
    """The common tests, of an architecture whose name is `name`."""

    name = ""

    def setUp(self) -> None:
        told = {key: getattr(self.config(), key, None) for key in ("hidden_size", "num_hidden_layers", "num_attention_heads")}
        lengths = dict.fromkeys(("seq_length", "encoder_seq_length", "decoder_seq_length", "key_length"), LENGTH)
        self.model_tester = SimpleNamespace(**told, **lengths, batch_size=BATCH, is_training=True, num_labels=3, num_choices=4,
                                            get_config=self.config, prepare_config_and_inputs_for_common=self.inputs)

    @classmethod
    def config(cls) -> Any:
        return AutoConfig.for_model(cls.name, **SIZES[cls.name])

    def inputs(self) -> tuple[Any, dict[str, Any]]:
        config, ids, mask = self.config(), common.ids_tensor([BATCH, LENGTH], 90) + 3, common.random_attention_mask([BATCH, LENGTH])
        decoder = {"decoder_input_ids": ids.flip(0), "decoder_attention_mask": mask} if config.is_encoder_decoder else {}
        return config, {"input_ids": ids, "attention_mask": mask, **decoder}

    def _prepare_for_class(self, inputs_dict: dict[str, Any], model_class: type, return_labels: bool = False) -> dict[str, Any]:
        inputs = super()._prepare_for_class(inputs_dict, model_class, return_labels=return_labels)
        if return_labels and model_class.__name__.endswith("ForPreTraining"):
            inputs["labels"] = torch.zeros(BATCH, LENGTH, dtype=torch.long)
            inputs["next_sentence_label"] = torch.zeros(BATCH, dtype=torch.long)
        return inputs


for chosen in os.environ["NAMES"].split(","):
    config = AutoConfig.for_model(chosen, **SIZES[chosen])
    mappings = [getattr(modeling_auto, f"{kind}_MAPPING") for kind in KINDS]
    classes = [mapping[type(config)] for mapping in mappings if type(config) in mapping.keys()]
    globals()[f"Test_{chosen}"] = type(f"Test_{chosen}", (Common, unittest.TestCase), {
        "name": chosen, "all_model_classes": tuple(dict.fromkeys(classes)), "all_generative_model_classes": (),
        "is_encoder_decoder": config.is_encoder_decoder, "__module__": __name__})
del Common
