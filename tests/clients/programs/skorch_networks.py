"""Networks as estimators of scikit-learn: classes and numbers with callbacks, a search over a grid, a pipeline, validation across folds,
weights saved and loaded, training gone on with, frozen parts, data that is a dictionary, probabilities calibrated."""

import pickle
import tempfile
from pathlib import Path

import numpy as np
import skorch
import torch
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_digits
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from skorch import callbacks
from skorch.dataset import Dataset, ValidSplit
from skorch.helper import SliceDict, predefined_split

PACKAGES = ("skorch", "scikit-learn")
SOURCE = np.random.default_rng(0)
X = SOURCE.standard_normal((120, 6)).astype(np.float32)
Y = ((X[:, 0] + X[:, 1] > 0).astype(np.int64) + (X[:, 2] > 0.5))


class Network(torch.nn.Module):
    def __init__(self, hidden: int = 8, dropout: float = 0.1, inputs: int = 6, outputs: int = 3) -> None:
        super().__init__()
        self.body = torch.nn.Sequential(torch.nn.Linear(inputs, hidden), torch.nn.ReLU(), torch.nn.Dropout(dropout))
        self.head = torch.nn.Linear(hidden, outputs)

    def forward(self, X: torch.Tensor) -> torch.Tensor:
        return self.head(self.body(X)).softmax(-1)


def classifier(**options: object) -> skorch.NeuralNetClassifier:
    torch.manual_seed(0)
    return skorch.NeuralNetClassifier(Network, **{"max_epochs": 4, "lr": 0.2, "verbose": 0, "iterator_train__shuffle": True, **options})


def told(net: skorch.NeuralNet) -> list:
    return [{key: value for key, value in row.items() if key not in ("batches", "dur")} for row in net.history.to_list()]


def classes() -> list:
    net = classifier(max_epochs=8, batch_size=32, optimizer=torch.optim.SGD, optimizer__momentum=0.9, callbacks=[
        ("schedule", callbacks.LRScheduler("StepLR", step_size=2, gamma=0.5)), callbacks.EarlyStopping(patience=3),
        callbacks.EpochScoring("f1_macro", lower_is_better=False), callbacks.BatchScoring("accuracy", name="by_batch"),
        callbacks.GradientNormClipping(1.0), callbacks.EpochTimer()])
    net.fit(X, Y)
    again = pickle.loads(pickle.dumps(net))
    return [told(net), net.history[-1, "batches", :, "train_loss"], net.predict(X), net.predict_proba(X[:5]), net.score(X, Y),
            np.array_equal(again.predict_proba(X), net.predict_proba(X)), repr(net).splitlines(), net.get_params(deep=False)["lr"]]


def numbers() -> list:
    torch.manual_seed(0)
    net = skorch.NeuralNetRegressor(torch.nn.Linear, module__in_features=6, module__out_features=1, max_epochs=4, verbose=0, lr=0.1,
                                    optimizer=torch.optim.Adam, criterion=torch.nn.SmoothL1Loss, train_split=ValidSplit(4),
                                    callbacks=[callbacks.LRScheduler("ReduceLROnPlateau", monitor="valid_loss")])
    net.fit(X, X[:, :1] * 2 - X[:, 1:2])
    return [told(net), net.predict(X[:6]), net.score(X, X[:, :1])]


def two_classes() -> list:
    torch.manual_seed(0)
    net = skorch.NeuralNetBinaryClassifier(torch.nn.Sequential(torch.nn.Linear(6, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1),
        torch.nn.Flatten(0)),
                                           max_epochs=4, lr=0.5, verbose=0, callbacks=[callbacks.EpochScoring("roc_auc", False)])
    net.fit(X, (Y > 0).astype(np.float32))
    return [told(net), net.predict(X[:20]), net.predict_proba(X[:4])]


def searched() -> list:
    pipeline = make_pipeline(StandardScaler(), classifier(max_epochs=2, train_split=None))
    name = "neuralnetclassifier"
    search = GridSearchCV(pipeline, {f"{name}__lr": [0.05, 0.3], f"{name}__module__hidden": [4, 8], f"{name}__optimizer": [
        torch.optim.SGD, torch.optim.Adam]}, cv=2, scoring="neg_log_loss").fit(X, Y)
    best = {key: getattr(value, "__name__", value) for key, value in search.best_params_.items()}
    return [best, search.cv_results_["mean_test_score"], search.best_estimator_.predict_proba(X[:4])]


def folded() -> list:
    return [cross_val_score(classifier(), X, Y, cv=3), cross_val_predict(classifier(), X, Y, cv=2, method="predict_proba")[:5],
            CalibratedClassifierCV(classifier(train_split=None), cv=2).fit(X, Y).predict_proba(X[:4])]


def saved() -> list:
    with tempfile.TemporaryDirectory() as folder:
        best = callbacks.Checkpoint(dirname=folder, monitor="valid_loss_best")
        net = classifier(callbacks=[best, callbacks.TrainEndCheckpoint(dirname=folder, fn_prefix="end_")])
        net.fit(X, Y)
        files = sorted(path.name for path in Path(folder).iterdir())
        other = classifier(max_epochs=2).initialize()
        other.load_params(checkpoint=best)
        before = other.predict_proba(X[:4])
        other.partial_fit(X, Y)
        restored = classifier(max_epochs=2, callbacks=[callbacks.LoadInitState(best)]).fit(X, Y)
        net.save_params(f_params=f"{folder}/p.safetensors", use_safetensors=True)
        safe = classifier().initialize()
        safe.load_params(f_params=f"{folder}/p.safetensors", use_safetensors=True)
    return [files, before, told(other), told(restored)[-1], np.array_equal(safe.predict_proba(X), net.predict_proba(X))]


def frozen() -> list:
    net = classifier(callbacks=[callbacks.Freezer("body.*"), callbacks.Initializer("head.bias", fn=torch.nn.init.zeros_)])
    net.fit(X, Y)
    more = classifier(warm_start=True, callbacks=[callbacks.ParamMapper("head.*", at=2)],
                      optimizer__param_groups=[("head.bias", {"lr": 0.01})])
    more.fit(X, Y).fit(X, Y)
    return [{name: [p.requires_grad, p.detach()] for name, p in net.module_.named_parameters()}, told(more)]


def by_names() -> list:
    class Two(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.a, self.b = torch.nn.Linear(2, 4), torch.nn.Linear(4, 3)

        def forward(self, left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
            return self.b(torch.tanh(self.a(left)) * right.mean(-1, keepdim=True)).softmax(-1)

    torch.manual_seed(0)
    valid = Dataset({"left": X[:20, :2], "right": X[:20, 2:]}, Y[:20])
    net = skorch.NeuralNetClassifier(Two, max_epochs=3, lr=0.3, verbose=0, train_split=predefined_split(valid))
    net.fit({"left": X[:, :2], "right": X[:, 2:]}, Y)
    sliced = SliceDict(left=X[:, :2], right=X[:, 2:])
    return [told(net), cross_val_score(net, sliced, Y, cv=2), net.predict_proba(sliced[:3])]


def digits() -> list:
    found = load_digits()
    images = (found.data / 16).astype(np.float32).reshape(-1, 1, 8, 8)[:400]
    torch.manual_seed(0)
    net = skorch.NeuralNetClassifier(
        torch.nn.Sequential(torch.nn.Conv2d(1, 8, 3), torch.nn.ReLU(), torch.nn.MaxPool2d(2), torch.nn.Flatten(), torch.nn.Linear(72, 10)),
        criterion=torch.nn.CrossEntropyLoss, max_epochs=3, lr=0.05, optimizer=torch.optim.AdamW, batch_size=64, verbose=0)
    net.fit(images, found.target[:400])
    return [told(net), net.predict(images[:40]), next(net.forward_iter(images[:3]))]


def refused() -> list:
    found = []
    for call in (lambda: classifier().predict(X), lambda: classifier(nothing=1).initialize(), lambda: classifier().fit(X, None),
                 lambda: classifier().fit(X.astype(np.float64), Y), lambda: classifier(optimizer__lr=1).fit(X[:, :3], Y)):
        try:
            call()
        except Exception as error:
            found.append([type(error).__name__, str(error)[:160]])
    return found


CASES = {"classes": classes, "numbers": numbers, "two classes": two_classes, "search": searched, "folds": folded, "saved": saved,
         "frozen": frozen, "data by names": by_names, "digits": digits, "refused": refused}
