"""Keras with torch behind it: networks of pictures, sequences and several inputs compiled, fitted, evaluated, saved and loaded; layers,
losses and metrics by name; all its optimizers; schedules, callbacks, a step of training by hand, a layer written by hand, operations."""

import os
import tempfile

os.environ["KERAS_BACKEND"] = "torch"
import keras
import numpy as np
import torch
from keras import callbacks, layers, ops

PACKAGES = ("keras",)
SOURCE = np.random.default_rng(0)
IMAGES, KINDS = SOURCE.standard_normal((48, 8, 8, 1)).astype("float32"), SOURCE.integers(0, 3, 48)
WORDS, NUMBERS = SOURCE.integers(0, 20, (32, 7)), SOURCE.standard_normal((32, 1)).astype("float32")
ROWS = SOURCE.standard_normal((32, 4)).astype("float32")


def pictures() -> list:
    keras.utils.set_random_seed(0)
    model = keras.Sequential([
        keras.Input((8, 8, 1)), layers.RandomFlip("horizontal", seed=1), layers.Rescaling(0.5),
        layers.Conv2D(4, 3, padding="same", use_bias=False),
        layers.BatchNormalization(), layers.ReLU(), layers.MaxPooling2D(), layers.SeparableConv2D(6, 3), layers.Flatten(),
        layers.Dropout(0.2), layers.Dense(3, activation="softmax", kernel_regularizer="l2")])
    model.compile(optimizer=keras.optimizers.Adam(0.01), loss="sparse_categorical_crossentropy", metrics=["accuracy", keras.metrics.
                  SparseTopKCategoricalAccuracy(2)])
    lines = []
    history = model.fit(IMAGES, KINDS, epochs=4, batch_size=8, verbose=0, validation_split=0.25, callbacks=[
        callbacks.EarlyStopping(patience=3, restore_best_weights=True), callbacks.ReduceLROnPlateau(patience=1),
        callbacks.LambdaCallback(on_epoch_end=lambda epoch, logs: lines.append([epoch, sorted(logs)]))])
    found = [history.history, model.evaluate(IMAGES, KINDS, verbose=0), model.predict(IMAGES[:4], verbose=0), lines]
    model.summary(print_fn=lambda line, **_: found.append(line), line_length=70)
    with tempfile.TemporaryDirectory() as folder:
        model.save(f"{folder}/m.keras")
        model.save_weights(f"{folder}/m.weights.h5")
        again = keras.saving.load_model(f"{folder}/m.keras")
        found.append(np.abs(again.predict(IMAGES, verbose=0) - model.predict(IMAGES, verbose=0)).max() < 1e-6)
        again.fit(IMAGES, KINDS, epochs=1, batch_size=16, verbose=0, shuffle=False)
        again.load_weights(f"{folder}/m.weights.h5")
        found.append(np.abs(again.predict(IMAGES, verbose=0) - model.predict(IMAGES, verbose=0)).max() < 1e-6)
    return found


def sequences() -> list:
    keras.utils.set_random_seed(0)
    words, row = keras.Input((7,), dtype="int32", name="words"), keras.Input((4,), name="row")
    x = layers.Embedding(20, 8, mask_zero=True)(words)
    x = layers.LayerNormalization()(x + layers.MultiHeadAttention(2, 4)(x, x))
    x = layers.Concatenate()([layers.LSTM(8, return_sequences=True)(x), layers.Bidirectional(layers.GRU(4, return_sequences=True))(x),
                              layers.SimpleRNN(3, return_sequences=True)(x), layers.Conv1D(4, 3, padding="causal")(x)])
    x = layers.Concatenate()([layers.GlobalAveragePooling1D()(x), layers.Dense(4, "gelu")(row)])
    model = keras.Model([words, row], [layers.Dense(1, name="number")(x), layers.Dense(2, "softmax", name="kind")(x)])
    schedule = keras.optimizers.schedules.CosineDecay(0.01, 20, warmup_target=0.02, warmup_steps=3)
    model.compile(keras.optimizers.AdamW(schedule, clipnorm=1.0), {"number": "mse", "kind": "sparse_categorical_crossentropy"},
                  loss_weights={"number": 1.0, "kind": 0.3}, metrics={"kind": "accuracy", "number": "mae"})
    history = model.fit({"words": WORDS, "row": ROWS}, {"number": NUMBERS, "kind": KINDS[:32] % 2}, epochs=4, batch_size=8, verbose=0)
    return [history.history, model.predict([WORDS[:3], ROWS[:3]], verbose=0), model.count_params()]


OPTIMIZERS = ("SGD", "RMSprop", "Adam", "AdamW", "Adadelta", "Adagrad", "Adamax", "Adafactor", "Nadam", "Ftrl", "Lion", "Lamb", "Muon")


def optimized() -> dict:
    found = {}
    for name in OPTIMIZERS:
        keras.utils.set_random_seed(1)
        model = keras.Sequential([keras.Input((4,)), layers.Dense(8, "tanh"), layers.Dense(1)])
        model.compile(getattr(keras.optimizers, name)(0.05, weight_decay=0.01, use_ema=name == "SGD"), "huber")
        found[name] = [model.fit(ROWS, NUMBERS, epochs=3, batch_size=16, verbose=0).history["loss"], model.predict(ROWS[:2], verbose=0)]
    return found


LAYERS = {
    "Conv2DTranspose": lambda: layers.Conv2DTranspose(2, 3, strides=2), "DepthwiseConv2D": lambda: layers.DepthwiseConv2D(3),
    "AveragePooling2D": lambda: layers.AveragePooling2D(3, 2, "same"), "GlobalMaxPooling2D": layers.GlobalMaxPooling2D,
    "UpSampling2D": lambda: layers.UpSampling2D(2, interpolation="bilinear"), "ZeroPadding2D": lambda: layers.ZeroPadding2D(1),
    "Cropping2D": lambda: layers.Cropping2D(1), "GroupNormalization": lambda: layers.GroupNormalization(1),
    "UnitNormalization": layers.UnitNormalization, "SpectralNormalization": lambda: layers.SpectralNormalization(layers.Conv2D(2, 3)),
    "RMSNormalization": layers.RMSNormalization, "ConvLSTM2D": lambda: layers.TimeDistributed(layers.Conv2D(2, 3)),
    "GaussianNoise": lambda: layers.GaussianNoise(0.1, seed=1), "SpatialDropout2D": lambda: layers.SpatialDropout2D(0.3, seed=1),
    "PReLU": layers.PReLU, "LeakyReLU": layers.LeakyReLU, "ELU": layers.ELU, "Softmax": layers.Softmax,
    "Resizing": lambda: layers.Resizing(5, 6), "RandomRotation": lambda: layers.RandomRotation(0.2, seed=1),
    "RandomZoom": lambda: layers.RandomZoom(0.2, seed=1), "RandomContrast": lambda: layers.RandomContrast(0.3, seed=1),
    "CenterCrop": lambda: layers.CenterCrop(4, 4), "Permute": lambda: layers.Permute((3, 1, 2)), "EinsumDense": lambda: layers.EinsumDense(
        "abcd,de->abce", (8, 8, 3))}


def by_layer() -> dict:
    found = {}
    for name, build in LAYERS.items():
        keras.utils.set_random_seed(2)
        x = torch.tensor(IMAGES[:2] if name != "ConvLSTM2D" else IMAGES[:2, None], requires_grad=True)
        layer = build()
        y = layer(x, training=True) if name.startswith(("Gaussian", "Spatial", "Random")) else layer(x)
        gradient = torch.autograd.grad(y.square().sum(), x, allow_unused=True)[0] if y.requires_grad else None
        found[name] = [y, gradient, [w.path for w in layer.trainable_weights]]
    return found


def scored() -> dict:
    losses = ("MeanSquaredError", "MeanAbsoluteError", "MeanAbsolutePercentageError", "MeanSquaredLogarithmicError", "CosineSimilarity",
              "Huber",
              "LogCosh", "KLDivergence", "Poisson", "BinaryCrossentropy", "BinaryFocalCrossentropy", "CategoricalCrossentropy",
              "CategoricalFocalCrossentropy", "Hinge", "SquaredHinge", "CategoricalHinge", "Dice", "Tversky")
    y = np.eye(3, dtype="float32")[KINDS[:12]]
    p = np.random.default_rng(3).dirichlet(np.ones(3), 12).astype("float32")
    measures = ("AUC", "Precision", "Recall", "F1Score", "MeanIoU", "CategoricalAccuracy", "RootMeanSquaredError", "R2Score",
                "CosineSimilarity")
    found = {name: float(getattr(keras.losses, name)()(y, p)) for name in losses}
    for name in measures:
        measure = keras.metrics.MeanIoU(2) if name == "MeanIoU" else getattr(keras.metrics, name)()
        measure.update_state((y > 0.5) if name == "MeanIoU" else y, (p > 0.5) if name == "MeanIoU" else p)
        found[f"metric {name}"] = np.asarray(keras.ops.convert_to_numpy(measure.result()), dtype="float64")
    return found


class Scaled(layers.Layer):
    def build(self, shape: tuple) -> None:
        self.scale = self.add_weight(shape=(shape[-1],), initializer="ones", name="scale")
        self.seen = self.add_weight(shape=(), initializer="zeros", trainable=False, name="seen")

    def call(self, x: torch.Tensor) -> torch.Tensor:
        self.seen.assign_add(1.0)
        self.add_loss(0.01 * ops.sum(ops.square(self.scale)))
        return x * self.scale


class ByHand(keras.Model):
    def __init__(self) -> None:
        super().__init__()
        self.scaled, self.out = Scaled(), layers.Dense(1)

    def call(self, x: torch.Tensor, training: bool = False) -> torch.Tensor:
        return self.out(torch.tanh(self.scaled(x)))

    def train_step(self, data: tuple) -> dict:
        x, y = data
        self.zero_grad()
        loss = self.compute_loss(y=y, y_pred=self(x, training=True))
        loss.backward()
        trainable = list(self.trainable_weights)
        with torch.no_grad():
            self.optimizer.apply([v.value.grad for v in trainable], trainable)
        return {"loss": loss.detach()}


def by_hand() -> list:
    keras.utils.set_random_seed(4)
    model = ByHand()
    model.compile(keras.optimizers.SGD(0.1, momentum=0.9, nesterov=True), "mse")
    history = model.fit(ROWS, NUMBERS, epochs=3, batch_size=8, verbose=0).history
    keras.utils.set_random_seed(4)
    plain, losses = keras.Sequential([keras.Input((4,)), layers.Dense(6, "swish"), layers.Dense(1)]), []
    optimizer = torch.optim.AdamW(plain.parameters(), 0.01)  # a model is a module
    for _ in range(4):
        loss = torch.nn.functional.mse_loss(plain(torch.tensor(ROWS)), torch.tensor(NUMBERS))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    wrapped = keras.Sequential([keras.Input((4,)), layers.TorchModuleWrapper(torch.nn.Linear(4, 2)), layers.Dense(1)])
    wrapped.compile("adam", "mse")
    return [history, float(model.scaled.seen.value), losses, wrapped.fit(ROWS, NUMBERS, epochs=2, verbose=0).history, [
        name for name, _ in plain.named_parameters()], isinstance(plain, torch.nn.Module)]


def operations() -> dict:
    a = np.random.default_rng(5).standard_normal((3, 4)).astype("float32")
    found = {name: ops.convert_to_numpy(getattr(ops, name)(a)) for name in (
        "softmax", "gelu", "logsumexp", "std", "median", "sort", "cumsum", "erf", "tanh", "norm", "sparsemax", "hard_silu", "argsort",
        "rsqrt",
        "flip", "var", "log_softmax", "celu", "glu", "diff", "sinc", "isfinite", "trace", "sign", "softsign", "all", "argmax", "exp2")}
    kernel = np.random.default_rng(6).standard_normal((3, 3, 1, 2)).astype("float32")
    more = {"conv": ops.conv(IMAGES[:1], kernel, 2, "same"), "resize": ops.image.resize(IMAGES[:1], (12, 10), "bicubic"),
            "svd": ops.svd(a, False, False),
            "top": ops.top_k(a, 2), "einsum": ops.einsum("ij,kj->ik", a, a), "scan": ops.scan(lambda c, v: (c + v, c), ops.zeros(4), a),
            "segments": ops.segment_sum(a, np.array([0, 0, 1])), "one hot": ops.one_hot([0, 2], 3), "solve": ops.solve(a[:, :3], a[:, 3:]),
            "fft": ops.fft((a, a)), "where": ops.where(a > 0, a, 0), "scattered": ops.scatter_update(a, [[0, 1]], [9.0]),
            "slice": ops.slice_update(a, (1, 1), np.ones((1, 2), "float32")),
            "while": ops.while_loop(lambda i: i < 5, lambda i: (i + 1,), (0,)),
            "random": keras.random.normal((2, 2), seed=3), "quantile": ops.quantile(a, 0.3, 1), "stft": ops.stft(a.reshape(-1), 4, 2, 4),
            "map": ops.vectorized_map(lambda row: ops.sum(row * row), ops.convert_to_tensor(a)),
            "unfold": ops.image.extract_patches(IMAGES[:1], 4),
            "ctc": ops.ctc_loss(WORDS[:2, :3] % 3 + 1, np.random.default_rng(7).standard_normal((2, 7, 5)).astype("float32"), [3, 2],
                                [7, 6])}
    return found | more


def precise() -> list:
    found = []
    for policy in ("mixed_bfloat16", "float64"):
        keras.utils.set_random_seed(0)
        keras.config.set_dtype_policy(policy)
        try:
            model = keras.Sequential([keras.Input((4,)), layers.Dense(8, "relu"), layers.Dense(1)])
            model.compile("sgd", "mse")
            found.append([model.fit(ROWS, NUMBERS, epochs=2, verbose=0).history["loss"], str(model(ROWS[:1]).dtype)])
        finally:
            keras.config.set_dtype_policy("float32")
    return [{"half": found[0], "double": found[1]}]


def refused() -> list:
    found = []
    model = keras.Sequential([keras.Input((4,)), layers.Dense(1)])
    for call in (lambda: model.fit(ROWS, NUMBERS), lambda: model(ROWS[:, :3]), lambda: layers.Dense(0), lambda: model.get_layer("other"),
                 lambda: keras.losses.get("nothing"), lambda: ops.reshape(ROWS, (5, 5)), lambda: ops.matmul(ROWS, ROWS)):
        try:
            call()
        except Exception as error:
            found.append([type(error).__name__, str(error)[:120]])
    return found


CLOSE = {"half": 2e-2, "": 1e-4}
CASES = {"pictures": pictures, "sequences": sequences, "optimizers": optimized, "layers": by_layer, "losses and metrics": scored,
         "by hand": by_hand, "operations": operations, "precisions": precise, "refused": refused}
