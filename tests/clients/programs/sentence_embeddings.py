"""Sentences as vectors: a small encoder trained by eleven losses and by a trainer with an evaluator; each kind of pooling, encoding by
batches, similarity, search, clusters, paraphrases, quantized vectors; pairs scored by a cross-encoder, sparse vectors; saved and loaded."""

import contextlib
import io
import random
import tempfile
from pathlib import Path

import numpy as np
import torch
from datasets import Dataset
from sentence_transformers import (
    CrossEncoder,
    SentenceTransformer,
    SentenceTransformerTrainer,
    SentenceTransformerTrainingArguments,
    SparseEncoder,
    util,
)
from sentence_transformers.cross_encoder import losses as cross_losses
from sentence_transformers.sentence_transformer import evaluation, losses
from sentence_transformers.sentence_transformer import modules as parts
from sentence_transformers.sparse_encoder import losses as sparse_losses
from sentence_transformers.sparse_encoder import modules as sparse_parts
from sentence_transformers.util import quantize_embeddings
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import BertConfig, BertForMaskedLM, BertForSequenceClassification, BertModel, PreTrainedTokenizerFast

PACKAGES = ("sentence-transformers", "transformers", "tokenizers", "datasets")
WORDS = "[PAD] [UNK] [CLS] [SEP] [MASK] a cat dog sat on the mat ran fast slow house tree sky is blue red green and big small".split()
TEXTS = ["a cat sat on the mat", "the dog ran fast", "the sky is blue", "a big red house", "a small cat ran", "the tree is green and big"]
OTHERS = ["the cat is on the mat", "a fast dog", "a blue sky", "the house is big and red", "the cat is small", "a green tree"]
LOSSES = {
    "ranking": losses.MultipleNegativesRankingLoss, "cached ranking": lambda model: losses.CachedMultipleNegativesRankingLoss(
        model, mini_batch_size=4), "cosine": losses.CosineSimilarityLoss, "cosent": losses.CoSENTLoss, "angle": losses.AnglELoss,
    "contrastive": losses.OnlineContrastiveLoss, "softmax": lambda model: losses.SoftmaxLoss(model, 16, 2),
    "triplet": losses.TripletLoss, "batch triplet": losses.BatchHardTripletLoss,
    "matryoshka": lambda model: losses.MatryoshkaLoss(model, losses.MultipleNegativesRankingLoss(model), [16, 8, 4]),
    "layers": lambda model: losses.AdaptiveLayerLoss(model, losses.MultipleNegativesRankingLoss(model), 1, kl_temperature=0.3)}
SIZES = {"vocab_size": len(WORDS), "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32,
         "max_position_embeddings": 16, "hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}


@contextlib.contextmanager
def folder_of(kind: type, **more: object) -> object:
    """A folder of a model of transformers and its tokenizer."""
    tokenizer = Tokenizer(models.WordLevel({word: i for i, word in enumerate(WORDS)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)])
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stderr(io.StringIO()):
        torch.manual_seed(0)
        kind(BertConfig(**SIZES, **more)).save_pretrained(folder)
        PreTrainedTokenizerFast(tokenizer_object=tokenizer, pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]",
                                mask_token="[MASK]").save_pretrained(folder)
        yield folder


def encoder(folder: str, pooling: str = "mean", *more: torch.nn.Module) -> SentenceTransformer:
    torch.manual_seed(0), random.seed(0)
    body = parts.Transformer(folder, max_seq_length=12)
    return SentenceTransformer(modules=[body, parts.Pooling(16, pooling), *more], device="cpu")


def trained(model: torch.nn.Module, loss: object, steps: int = 4) -> list:
    optimizer, found = torch.optim.SGD(model.parameters(), 0.05, momentum=0.9), []
    for _ in range(steps):
        now = loss()
        now = sum(now.values()) if isinstance(now, dict) else now
        now.backward()
        optimizer.step()
        optimizer.zero_grad()
        found.append(now.item())
    return found


def by_loss(name: str) -> list:
    with folder_of(BertModel) as folder:
        model = encoder(folder).train()
        loss = LOSSES[name](model)
        texts = {"triplet": [TEXTS, OTHERS, OTHERS[::-1]], "batch triplet": [TEXTS + OTHERS]}.get(name, [TEXTS, OTHERS])
        labels = {"contrastive": torch.tensor([1, 1, 0, 1, 0, 1]), "softmax": torch.tensor([1, 0, 0, 1, 0, 1]),
                  "batch triplet": torch.arange(6).repeat(2)}.get(name, torch.linspace(0, 1, 6))
        features = lambda: [model.preprocess(part) for part in texts]  # noqa: E731
        found = trained(loss, lambda: loss(features(), labels))
        return [found, model.eval().encode(TEXTS, convert_to_tensor=True, show_progress_bar=False)]


def encoded() -> list:
    found = []
    with folder_of(BertModel) as folder:
        for pooling in ("cls", "max", "mean", "mean_sqrt_len_tokens", "weightedmean", "lasttoken"):
            found.append(encoder(folder, pooling).encode(TEXTS, batch_size=4, show_progress_bar=False))
        model = encoder(folder, "mean", parts.Dense(16, 8, activation_function=torch.nn.GELU()), parts.LayerNorm(8), parts.Normalize())
        one = model.encode("a cat", convert_to_tensor=True)
        tokens = model.encode(TEXTS[:2], output_value="token_embeddings")
        cut = encoder(folder).encode(TEXTS, truncate_dim=4, normalize_embeddings=True, convert_to_tensor=True)
        model.save_pretrained(f"{folder}/kept")
        again = SentenceTransformer(f"{folder}/kept", device="cpu")
        files = sorted(str(path.relative_to(folder)) for path in Path(folder, "kept").rglob("*") if path.is_file())
        return [found, one, tokens, cut, files, torch.equal(again.encode("a cat", convert_to_tensor=True), one), str(model).splitlines(),
                [quantize_embeddings(found[0], kind, np.array([[-4.0] * 16, [4.0] * 16])) for kind in ("int8", "binary", "ubinary")]]


def searched() -> list:
    with folder_of(BertModel) as folder:
        model = encoder(folder)
        a, b = (model.encode(texts, convert_to_tensor=True) for texts in (TEXTS, OTHERS))
        alike = [getattr(util, name)(a, b) for name in ("cos_sim", "dot_score", "manhattan_sim", "euclidean_sim", "pairwise_cos_sim")]
        model.similarity_fn_name = "euclidean"
        return [alike, model.similarity(a, b), util.semantic_search(a, b, query_chunk_size=2, corpus_chunk_size=4, top_k=3),
                util.community_detection(torch.cat([a, b]), threshold=0.9, min_community_size=1),
                util.paraphrase_mining(model, TEXTS + OTHERS, show_progress_bar=False)[:5]]


def by_trainer() -> list:
    with folder_of(BertModel) as folder:
        model = encoder(folder)
        evaluator = evaluation.EmbeddingSimilarityEvaluator(TEXTS, OTHERS, [0.9, 0.7, 0.6, 0.8, 0.4, 0.3], name="alike", write_csv=False)
        before = evaluator(model)
        arguments = SentenceTransformerTrainingArguments(
            f"{folder}/out", num_train_epochs=3, per_device_train_batch_size=2, learning_rate=1e-3, warmup_steps=2, logging_steps=1,
            eval_strategy="epoch", save_strategy="epoch", use_cpu=True, report_to=[], disable_tqdm=True, batch_sampler="no_duplicates")
        data = Dataset.from_dict({"anchor": TEXTS, "positive": OTHERS})
        trainer = SentenceTransformerTrainer(model, arguments, data, data, losses.MultipleNegativesRankingLoss(model), evaluator=evaluator)
        with contextlib.redirect_stdout(io.StringIO()):
            trainer.train()
        told = [{key: value for key,
                 value in row.items() if "second" not in key and "runtime" not in key} for row in trainer.state.log_history]
        triplets = evaluation.TripletEvaluator(TEXTS, OTHERS, OTHERS[::-1], write_csv=False)(model)
        search = evaluation.InformationRetrievalEvaluator(
            dict(enumerate(TEXTS)), {str(i): text for i, text in enumerate(OTHERS)}, {i: {str(i)} for i in range(6)},
            write_csv=False)(model)
        return [before, [row for row in told if "train_loss" not in row], triplets, search, model.encode(TEXTS[:3])]


def crossed() -> list:
    with folder_of(BertForSequenceClassification, num_labels=1) as folder:
        model = CrossEncoder(folder, device="cpu", max_length=16)
        pairs = list(zip(TEXTS, OTHERS))
        before = model.predict(pairs, show_progress_bar=False)
        loss = cross_losses.BinaryCrossEntropyLoss(model)
        found = trained(model.train(), lambda: loss([TEXTS, OTHERS], torch.tensor([1.0, 0, 1, 0, 1, 0])), 12)
        ranked = model.eval().rank("a cat", OTHERS, return_documents=True, top_k=3)
        return [before, ranked, found, model.predict(pairs, convert_to_tensor=True)]


def sparse() -> list:
    with folder_of(BertForMaskedLM) as folder:
        model = SparseEncoder(modules=[sparse_parts.MLMTransformer(folder, max_seq_length=12), sparse_parts.SpladePooling("max")],
                              device="cpu")
        vectors = model.encode(TEXTS)
        loss = sparse_losses.SpladeLoss(model, sparse_losses.SparseMultipleNegativesRankingLoss(model), 3e-3, 5e-3)
        found = trained(model.train(), lambda: loss([model.preprocess(TEXTS), model.preprocess(OTHERS)], None))
        model.eval()
        return [str(vectors.layout), vectors.to_dense(), model.similarity(vectors, vectors), model.sparsity(vectors), model.decode(
            vectors[0], top_k=3), found, model.encode(OTHERS[:2], convert_to_sparse_tensor=False)]


CASES = {**{f"loss: {name}": lambda name=name: by_loss(name) for name in LOSSES},
         "encoded": encoded, "searched": searched, "trainer": by_trainer, "pairs": crossed, "sparse": sparse}
