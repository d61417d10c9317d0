"""Diffusion: a U-Net trained to take noise away, with and without words beside it, and a transformer by flow matching; pictures by
fourteen samplers and three pipelines; an autoencoder trained, in tiles and slices; adapters, averaged weights, files."""

import inspect
import tempfile
from pathlib import Path

import diffusers
import torch
from diffusers import optimization, training_utils

PACKAGES = ("diffusers",)
SAMPLERS = {
    "DDPM": {}, "DDIM": {}, "PNDM": {}, "EulerDiscrete": {}, "EulerAncestralDiscrete": {}, "HeunDiscrete": {}, "LMSDiscrete": {},
    "DPMSolverMultistep": {}, "DPMSolverSinglestep": {}, "UniPCMultistep": {}, "DEISMultistep": {}, "KDPM2Discrete": {},
    "FlowMatchEulerDiscrete": {}, "LCM": {"original_inference_steps": 10}}


def unet() -> diffusers.UNet2DModel:
    torch.manual_seed(0)
    return diffusers.UNet2DModel(
        sample_size=8, in_channels=1, out_channels=1, layers_per_block=1, block_out_channels=(8, 16), norm_num_groups=4,
        attention_head_dim=4, down_block_types=("DownBlock2D", "AttnDownBlock2D"), up_block_types=("AttnUpBlock2D", "UpBlock2D"))


def conditional() -> diffusers.UNet2DConditionModel:
    torch.manual_seed(0)
    return diffusers.UNet2DConditionModel(
        sample_size=8, in_channels=2, out_channels=2, layers_per_block=1, block_out_channels=(8, 16), norm_num_groups=4,
        cross_attention_dim=8, attention_head_dim=4, down_block_types=("CrossAttnDownBlock2D", "DownBlock2D"),
        up_block_types=("UpBlock2D", "CrossAttnUpBlock2D"))


def random(*shape: int, seed: int = 1) -> torch.Tensor:
    """Of the default dtype."""
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def pictures() -> torch.Tensor:
    """Four waves."""
    rows = torch.arange(8.0)
    return torch.stack([torch.sin(rows[:, None] * (i + 1) / 4 + rows / (i + 1)) for i in range(4)])[:, None]


def trained(build: object, loss: object, steps: int = 6) -> list:
    """Losses and norms of gradients; weights after a step of each sign are told in double precision, where rounding does not sway it."""
    found = []
    for dtype in (torch.float32, torch.float64):
        torch.set_default_dtype(dtype)
        try:
            found.append(steps_of(build(), loss, steps))
        finally:
            torch.set_default_dtype(torch.float32)
    return [found[0][0], *found[1]]


def steps_of(model: torch.nn.Module, loss: object, steps: int) -> list:
    optimizer = torch.optim.AdamW(model.parameters(), 2e-3)
    schedule = optimization.get_cosine_schedule_with_warmup(optimizer, 2, 20)
    average, found = training_utils.EMAModel(model.parameters(), 0.9, use_ema_warmup=True), []
    for _ in range(steps):
        now = loss(model)
        now.backward()
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        optimizer.zero_grad()
        average.step(model.parameters())
        found.append([now.item(), norm.item(), schedule.get_last_lr()[0]])
    average.store(model.parameters())
    average.copy_to(model.parameters())
    smooth = [p.detach().clone() for p in model.parameters()]
    average.restore(model.parameters())
    return [found, [p.detach() for p in model.parameters()], smooth]


def noise_taken(kind: str) -> list:
    scheduler = diffusers.DDPMScheduler(50, beta_schedule="squaredcos_cap_v2", prediction_type=kind)

    def loss(model: torch.nn.Module) -> torch.Tensor:
        clean = pictures()
        noise, times = torch.randn_like(clean), torch.randint(0, 50, (4,))
        given = model(scheduler.add_noise(clean, noise, times), times).sample
        wanted = {"epsilon": noise, "sample": clean, "v_prediction": scheduler.get_velocity(clean, noise, times)}[kind]
        weight = training_utils.compute_snr(scheduler, times).clamp(max=5)[:, None, None, None] if kind == "sample" else 1
        return (weight * (given - wanted).square()).mean()

    return trained(unet, loss)


def words_beside() -> list:
    scheduler = diffusers.DDPMScheduler(50)

    def loss(model: torch.nn.Module) -> torch.Tensor:
        model.enable_gradient_checkpointing()
        clean, words = random(2, 2, 8, 8), random(2, 5, 8, seed=2)
        noise, times = torch.randn_like(clean), torch.randint(0, 50, (2,))
        return torch.nn.functional.mse_loss(model(scheduler.add_noise(clean, noise, times), times, words).sample, noise)

    found, model, clean, words = trained(conditional, loss), conditional(), random(2, 2, 8, 8), random(2, 5, 8, seed=2)
    with torch.no_grad():
        sdpa = model(clean, 3, words).sample
        model.set_default_attn_processor()
        plain = model(clean, 3, words).sample
        model.set_attention_slice("max")
        sliced = model(clean, 3, words).sample
    return [found, sdpa, plain, sliced, sorted({type(p).__name__ for p in model.attn_processors.values()})]


def flow() -> list:
    def build() -> diffusers.DiTTransformer2DModel:
        torch.manual_seed(0)
        return diffusers.DiTTransformer2DModel(
            num_attention_heads=2, attention_head_dim=8, in_channels=1, num_layers=2, sample_size=8, patch_size=2, num_embeds_ada_norm=10,
            norm_type="ada_norm_zero", norm_elementwise_affine=False, activation_fn="gelu-approximate")

    def loss(model: torch.nn.Module) -> torch.Tensor:
        clean, noise = pictures(), torch.randn(4, 1, 8, 8)
        sigmas = training_utils.compute_density_for_timestep_sampling("logit_normal", 4, 0.0, 1.0)[:, None, None, None]
        given = model((1 - sigmas) * clean + sigmas * noise, (sigmas.flatten() * 1000).long(), torch.arange(4)).sample
        return (given - (noise - clean)).square().mean()

    return trained(build, loss)


def sampled(name: str) -> list:
    scheduler = getattr(diffusers, f"{name}Scheduler")(num_train_timesteps=50)
    scheduler.set_timesteps(6, **SAMPLERS[name])
    model, generator = unet(), torch.Generator().manual_seed(5)
    x = random(2, 1, 8, 8) * getattr(scheduler, "init_noise_sigma", 1.0)
    with torch.no_grad():
        for time in scheduler.timesteps:
            given = scheduler.scale_model_input(x, time) if hasattr(scheduler, "scale_model_input") else x
            noise = model(given, time.expand(2)).sample
            chance = {"generator": generator} if "generator" in inspect.signature(scheduler.step).parameters else {}
            x = scheduler.step(noise, time, x, **chance).prev_sample
    return [scheduler.timesteps, x]


def pipelines() -> dict:
    found, model = {}, unet()
    for name, scheduler in {"DDPM": diffusers.DDPMScheduler(20), "DDIM": diffusers.DDIMScheduler(20)}.items():
        pipeline = getattr(diffusers, f"{name}Pipeline")(unet=model, scheduler=scheduler)
        pipeline.set_progress_bar_config(disable=True)
        found[name] = pipeline(2, torch.Generator().manual_seed(1), num_inference_steps=4, output_type="np").images
    with tempfile.TemporaryDirectory() as folder:
        pipeline.save_pretrained(folder)
        files = sorted(str(path.relative_to(folder)) for path in Path(folder).rglob("*") if path.is_file())
        again = diffusers.DiffusionPipeline.from_pretrained(folder)
        again.set_progress_bar_config(disable=True)
        shown = again(1, torch.Generator().manual_seed(1), num_inference_steps=2).images[0]
    torch.manual_seed(0)
    decoder = diffusers.AutoencoderKL(block_out_channels=(8, 8), norm_num_groups=4, latent_channels=4,
                                      down_block_types=("DownEncoderBlock2D",) * 2, up_block_types=("UpDecoderBlock2D",) * 2)
    transformer = diffusers.DiTTransformer2DModel(num_attention_heads=2, attention_head_dim=8, in_channels=4, num_layers=1, sample_size=8,
                                                  patch_size=2, num_embeds_ada_norm=1000, out_channels=8, norm_type="ada_norm_zero",
                                                  norm_elementwise_affine=False, activation_fn="gelu-approximate")
    classes = diffusers.DiTPipeline(transformer, decoder, diffusers.DDIMScheduler(20))
    classes.set_progress_bar_config(disable=True)
    found["DiT"] = classes([3, 5], 2.0, torch.Generator().manual_seed(1), 3, output_type="np").images
    return {**found, "files": files, "again": [type(again).__name__, shown.size, shown.mode]}


def autoencoder() -> list:
    def build() -> diffusers.AutoencoderKL:
        torch.manual_seed(0)
        return diffusers.AutoencoderKL(block_out_channels=(8, 8), norm_num_groups=4, latent_channels=2, sample_size=16,
                                       down_block_types=("DownEncoderBlock2D",) * 2, up_block_types=("UpDecoderBlock2D",) * 2)

    def loss(model: torch.nn.Module) -> torch.Tensor:
        x = random(2, 3, 16, 16).tanh()
        latent = model.encode(x).latent_dist
        return (model.decode(latent.sample()).sample - x).square().mean() + 1e-3 * latent.kl().mean()

    found, model, x = trained(build, loss), build(), random(2, 3, 16, 16).tanh()
    model.enable_slicing(), model.enable_tiling()
    with torch.no_grad():
        wide = random(1, 3, 32, 24).tanh()
        latent = model.encode(wide).latent_dist
        tiled = [latent.mean, latent.logvar, model.decode(latent.mode()).sample]
    torch.manual_seed(0)
    coded = diffusers.VQModel(block_out_channels=(8,), down_block_types=("DownEncoderBlock2D",), up_block_types=("UpDecoderBlock2D",),
                              norm_num_groups=4, latent_channels=2, num_vq_embeddings=16)
    given = coded(x)
    (given.sample.square().mean() + given.commit_loss.mean()).backward()
    return [found, tiled, given.sample, given.commit_loss, [p.grad for p in coded.parameters()]]


def adapted() -> list:
    model = conditional()
    control = diffusers.ControlNetModel.from_unet(model, conditioning_channels=3)
    x, words = random(1, 2, 8, 8), random(1, 5, 8, seed=2)
    down, middle = control(x, 3, words, random(1, 3, 64, 64), return_dict=False)
    guided = model(x, 3, words, down_block_additional_residuals=down, mid_block_additional_residual=middle).sample
    guided.square().mean().backward()
    return [guided, [p.grad for p in control.parameters() if p.grad is not None], len(list(control.parameters()))]


def filed() -> list:
    model = unet()
    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder)
        model.save_pretrained(folder, safe_serialization=False)
        again = [diffusers.UNet2DModel.from_pretrained(folder, use_safetensors=safe) for safe in (True, False)]
        half = diffusers.UNet2DModel.from_pretrained(folder, torch_dtype=torch.bfloat16)
        files = sorted(path.name for path in Path(folder).iterdir())
    return [files, [all(torch.equal(a, b) for a, b in zip(model.parameters(), other.parameters())) for other in again],
            str(half.dtype), model.num_parameters(), {k: str(v) for k, v in model.config.items()}]


CASES = {**{f"trained to give {kind}": lambda kind=kind: noise_taken(kind) for kind in ("epsilon", "sample", "v_prediction")},
         "trained with words": words_beside, "trained by flow matching": flow,
         **{f"sampled by {name}": lambda name=name: sampled(name) for name in SAMPLERS},
         "pipelines": pipelines, "autoencoders": autoencoder, "control": adapted, "files": filed}
