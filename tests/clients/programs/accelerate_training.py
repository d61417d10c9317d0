"""A loop of training with accumulated gradients, its state saved and loaded, and devices for a network that is not there."""

import tempfile

import torch
from accelerate import Accelerator, infer_auto_device_map, init_empty_weights
from accelerate.utils import set_seed

PACKAGES = ("accelerate",)


def trained() -> list:
    set_seed(3)
    accelerator = Accelerator(cpu=True, gradient_accumulation_steps=2)
    model = torch.nn.Sequential(torch.nn.Linear(5, 16), torch.nn.ReLU(), torch.nn.Linear(16, 1))
    rows = torch.utils.data.TensorDataset(torch.randn(40, 5), torch.randn(40, 1))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 10)
    model, optimizer, loader, scheduler = accelerator.prepare(
        model, optimizer, torch.utils.data.DataLoader(rows, batch_size=4, shuffle=True), scheduler)
    losses = []
    for x, y in loader:
        with accelerator.accumulate(model):
            loss = torch.nn.functional.mse_loss(model(x), y)
            accelerator.backward(loss)
            accelerator.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            scheduler.step()
            optimizer.zero_grad()
        losses.append([loss.item(), scheduler.get_last_lr()[0]])
    with tempfile.TemporaryDirectory() as folder:
        accelerator.save_state(folder)
        before = [p.detach().clone() for p in model.parameters()]
        with torch.no_grad():
            for p in model.parameters():
                p.zero_()
        accelerator.load_state(folder)
    return [losses, before, all(torch.equal(a, b) for a, b in zip(before, model.parameters()))]


def placed() -> list:
    with init_empty_weights():
        network = torch.nn.Sequential(torch.nn.Linear(1000, 1000), torch.nn.Linear(1000, 10))
    return [str(network[0].weight.device), infer_auto_device_map(network, max_memory={"cpu": "1GB"})]


CASES = {"trained": trained, "placed": placed}
