"""Learns to draw handwritten digits (scikit-learn's 8x8 images) out of noise: a diffusion model by Hugging Face's diffusers.

    python diffusion_digits.py                              with PyTorch
    python -m torchcompat diffusion_digits.py               with torchcompat, the same script

A U-Net is told which digit an image shows, or, one time in ten, nothing, and says how to part the image from the noise that was added to it
(Ho, Jain and Abbeel, "Denoising Diffusion Probabilistic Models", 2020). To draw, what it says of the digit is weighed against what it says
of nothing (Ho and Salimans, "Classifier-Free Diffusion Guidance", 2022). Both give the same losses and drawings, to rounding, which
training makes more of step by step. To --out go the U-Net and the schedule of noise, as diffusers keeps them, and a picture, drawn.png:
the losses, digits drawn, and how some come out of the noise.
Needs `pip install diffusers scikit-learn matplotlib tqdm`.
"""

import argparse
import sys
from pathlib import Path

import torch

try:
    import matplotlib
    from diffusers import DDIMScheduler, DDPMScheduler, UNet2DModel
    from diffusers.optimization import get_cosine_schedule_with_warmup
    from diffusers.training_utils import EMAModel
    from sklearn.datasets import load_digits
    from sklearn.neighbors import KNeighborsClassifier
    from tqdm import tqdm
except ModuleNotFoundError as error:
    sys.exit(f"{error.name} is missing: pip install diffusers scikit-learn matplotlib tqdm")

matplotlib.use("Agg")
import matplotlib.pyplot as plt

SIDE, NOTHING = 8, 10  # the pixels of a side; what the U-Net is told where it is told no digit


def load_data():
    """The images, from -1 to 1, and their digits."""
    digits = load_digits()
    return torch.tensor(digits.images, dtype=torch.get_default_dtype())[:, None] / 8 - 1, torch.tensor(digits.target)


def network(width):
    return UNet2DModel(
        sample_size=SIDE, in_channels=1, out_channels=1, layers_per_block=1, block_out_channels=(width, 2 * width), norm_num_groups=8,
        attention_head_dim=8, down_block_types=("DownBlock2D", "AttnDownBlock2D"), up_block_types=("AttnUpBlock2D", "UpBlock2D"),
        num_class_embeds=11)


def train(model, schedule, images, labels, steps, batch_size, lr):
    """Leaves the model with its weights averaged over the last steps; gives the losses."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=lr)
    rates = get_cosine_schedule_with_warmup(optimizer, steps // 20, steps)
    average, losses = EMAModel(model.parameters(), decay=0.99, use_ema_warmup=True), []
    with tqdm(total=steps, desc="training", unit="step") as bar:
        while len(losses) < steps:
            chosen = torch.randint(len(images), (batch_size,))
            told = labels[chosen].where(torch.rand(batch_size) > 0.1, torch.tensor(NOTHING))
            noise, times = torch.randn(batch_size, 1, SIDE, SIDE), torch.randint(schedule.config.num_train_timesteps, (batch_size,))
            said = model(schedule.add_noise(images[chosen], noise, times), times, told).sample
            loss = torch.nn.functional.mse_loss(said, schedule.get_velocity(images[chosen], noise, times))
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            rates.step()
            average.step(model.parameters())
            losses.append(loss.item())
            bar.set_postfix(loss=f"{losses[-1]:.3f}", refresh=False)
            bar.update()
    average.copy_to(model.parameters())
    return losses


@torch.no_grad()
def drawn(model, schedule, wanted, generator, steps, guidance):
    """The wanted digits, drawn in some steps, and the images on the way there."""
    solver = DDIMScheduler.from_config(schedule.config)
    solver.set_timesteps(steps)
    images = torch.randn(len(wanted), 1, SIDE, SIDE, generator=generator)
    told, way = torch.cat([wanted, torch.full_like(wanted, NOTHING)]), [images]
    for time in tqdm(solver.timesteps, desc="drawing", unit="step"):
        of_digit, of_nothing = model(torch.cat([images, images]), time, told).sample.chunk(2)
        images = solver.step(of_nothing + guidance * (of_digit - of_nothing), time, images).prev_sample
        way.append(images)
    return images.clamp(-1, 1), way


def tiled(images, rows, columns):
    """Images as one, with a faint line between them."""
    padded = torch.nn.functional.pad(images.reshape(rows, columns, SIDE, SIDE), (0, 1, 0, 1), value=-0.8)
    return padded.transpose(1, 2).reshape(rows * (SIDE + 1), columns * (SIDE + 1))[:-1, :-1]


def picture(losses, images, way, columns, path):
    figure, axes = plt.subplot_mosaic([["losses", "drawn"], ["way", "way"]], figsize=(11, 8), height_ratios=[3, 1.4], layout="constrained")
    axes["losses"].plot(range(1, len(losses) + 1), losses, color="0.8", linewidth=0.6, label="each step")
    means = torch.tensor(losses).unfold(0, min(25, len(losses)), 1).mean(1)
    axes["losses"].plot(range(len(losses) - len(means) + 1, len(losses) + 1), means.tolist(), label="mean of the last 25")
    axes["losses"].set(xlabel="step", ylabel="mean square of the error", yscale="log", title="losses")
    axes["losses"].legend()
    shown = {"cmap": "gray_r", "vmin": -1, "vmax": 1}
    axes["drawn"].imshow(tiled(images, 10, columns), **shown)
    axes["drawn"].set_title("digits drawn")
    strip = torch.stack([step[::columns] for step in way[:: max(1, len(way) // 10)]], 1)[::3]  # of some digits, each step
    axes["way"].imshow(tiled(strip, *strip.shape[:2]), **shown)
    axes["way"].set_title("out of the noise")
    for name in ("drawn", "way"):
        axes[name].set_axis_off()
    figure.savefig(path, dpi=120)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--steps", type=int, default=600, help="steps of training (%(default)s)")
    parser.add_argument("--batch-size", type=int, default=64, help="images a step (%(default)s)")
    parser.add_argument("--width", type=int, default=16, help="channels of the U-Net (%(default)s)")
    parser.add_argument("--lr", type=float, default=2e-3, help="highest rate of learning (%(default)s)")
    parser.add_argument("--columns", type=int, default=10, help="how often each digit is drawn (%(default)s)")
    parser.add_argument("--guidance", type=float, default=2.0, help="weight of the digit against nothing (%(default)s)")
    parser.add_argument("--double", action="store_true", help="compute in double precision")
    parser.add_argument("--seed", type=int, default=0, help="of all that is random (%(default)s)")
    parser.add_argument("--out", type=Path, default=Path("diffusion_digits"), help="where to write (%(default)s)")
    options = parser.parse_args()

    torch.set_default_dtype(torch.float64 if options.double else torch.float32)
    torch.manual_seed(options.seed)
    images, labels = load_data()
    model, schedule = network(options.width), DDPMScheduler(200, beta_schedule="squaredcos_cap_v2", prediction_type="v_prediction")
    print(f"{model.num_parameters()} weights, {len(images)} images")
    losses = train(model, schedule, images, labels, options.steps, options.batch_size, options.lr)
    model.eval().save_pretrained(options.out / "unet")
    schedule.save_pretrained(options.out / "scheduler")

    wanted = torch.arange(10).repeat_interleave(options.columns)
    made, way = drawn(model, schedule, wanted, torch.Generator().manual_seed(options.seed), 20, options.guidance)
    picture(losses, made, way, options.columns, options.out / "drawn.png")
    neighbours = KNeighborsClassifier(3).fit(images.flatten(1).numpy(), labels.numpy())
    right = (neighbours.predict(made.flatten(1).numpy()) == wanted.numpy()).mean()
    tenth = max(1, options.steps // 10)
    print(f"loss: {sum(losses[:tenth]) / tenth:.4f} in the first tenth of the steps, {sum(losses[-tenth:]) / tenth:.4f} in the last")
    print(f"of the digits drawn, {right:.0%} are nearest to images of the digit that was wanted; mean brightness {made.mean():.4f}")


if __name__ == "__main__":
    main()
