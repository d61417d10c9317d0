"""Scores of classes, of numbers, of pictures, sounds and texts; a collection kept over batches."""

import torch
import torchmetrics
from torchmetrics import functional

PACKAGES = ("torchmetrics",)


def classes() -> list:
    torch.manual_seed(0)
    given, target = torch.rand(50, 4).softmax(-1), torch.randint(0, 4, (50,))
    kind = {"task": "multiclass", "num_classes": 4}
    scores = torchmetrics.MetricCollection({
        "accuracy": torchmetrics.Accuracy(**kind), "f1": torchmetrics.F1Score(**kind, average="macro"), "auroc": torchmetrics.AUROC(**kind),
        "precision": torchmetrics.AveragePrecision(**kind), "calibration": torchmetrics.CalibrationError(**kind),
        "kappa": torchmetrics.CohenKappa(**kind), "correlation": torchmetrics.MatthewsCorrCoef(**kind)})
    for start in range(0, 50, 10):
        scores.update(given[start:start + 10], target[start:start + 10])
    curve = torchmetrics.ROC(task="binary")(torch.rand(20), torch.randint(0, 2, (20,)))
    return [dict(sorted(scores.compute().items())), functional.confusion_matrix(given, target, **kind), curve]


def numbers() -> list:
    torch.manual_seed(1)
    given, target = torch.randn(40), torch.randn(40)
    names = ("pearson_corrcoef", "spearman_corrcoef", "r2_score", "mean_squared_error", "explained_variance", "kendall_rank_corrcoef",
             "concordance_corrcoef", "mean_absolute_percentage_error")
    return [getattr(functional, name)(given, target) for name in names]


def signals() -> list:
    torch.manual_seed(2)
    one, other, sound, heard = torch.rand(2, 3, 32, 32), torch.rand(2, 3, 32, 32), torch.randn(2, 800), torch.randn(2, 800)
    return [functional.structural_similarity_index_measure(one, other), functional.peak_signal_noise_ratio(one, other),
            functional.total_variation(one), functional.universal_image_quality_index(one, other),
            functional.signal_noise_ratio(sound, heard), functional.scale_invariant_signal_distortion_ratio(sound, heard)]


def texts() -> list:
    return [functional.bleu_score(["the cat is on the mat"], [["there is a cat on the mat"]]),
            functional.word_error_rate(["a b c"], ["a b d"]),
            functional.char_error_rate(["abc"], ["abd"])]


CASES = {"classes": classes, "numbers": numbers, "signals": signals, "texts": texts}
