"""Agents trained in tiny worlds: PPO, A2C, DQN, SAC, TD3 and DDPG, several worlds at once, pictures, dictionaries of what is seen,
goals tried in hindsight; saved, loaded, evaluated."""

import tempfile

import gymnasium as gym
import numpy as np
import torch
from stable_baselines3 import A2C, DDPG, DQN, HerReplayBuffer, PPO, SAC, TD3
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.env_checker import check_env
from stable_baselines3.common.envs import BitFlippingEnv, FakeImageEnv, SimpleMultiObsEnv
from stable_baselines3.common.evaluation import evaluate_policy
from stable_baselines3.common.noise import NormalActionNoise, OrnsteinUhlenbeckActionNoise
from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize

PACKAGES = ("stable_baselines3", "gymnasium")
CLOSE = 1e-3
SMALL = {"net_arch": [16]}
LATE = {"learning_starts": 32, "buffer_size": 500, "batch_size": 16}


class Walk(gym.Env):
    """A walk along a line, to its end; and what is to be done is where one goes, by a step or as far as one will."""

    observation_space = gym.spaces.Box(-2, 2, (3,), np.float32)

    def __init__(self, far: bool = False) -> None:
        self.far, self.action_space = far, gym.spaces.Box(-1, 1, (2,), np.float32) if far else gym.spaces.Discrete(3)

    def seen(self) -> np.ndarray:
        return np.array([self.place, self.place ** 2, self.steps / 20], np.float32).clip(-2, 2)

    def reset(self, *, seed: int | None = None, options: dict | None = None) -> tuple:
        super().reset(seed=seed)
        self.place, self.steps = float(self.np_random.uniform(-0.5, 0.5)), 0
        return self.seen(), {}

    def step(self, action: object) -> tuple:
        self.steps += 1
        self.place += 0.2 * (float(np.mean(action)) if self.far else int(action) - 1)
        return self.seen(), -abs(1 - self.place), abs(1 - self.place) < 0.1, self.steps >= 20, {}


class Watch(BaseCallback):
    def __init__(self) -> None:
        super().__init__()
        self.rewards: list = []

    def _on_step(self) -> bool:
        self.rewards.append(float(np.sum(self.locals["rewards"])))
        return True


def learned(kind: type, world: object, policy: str = "MlpPolicy", steps: int = 96, **given: object) -> list:
    agent, watch = kind(policy, world, seed=0, device="cpu", policy_kwargs={**SMALL, **given.pop("policy_kwargs", {})}, **given), Watch()
    agent.learn(steps, callback=watch)
    seen = agent.get_env().reset()
    with tempfile.TemporaryDirectory() as folder:
        agent.save(folder + "/agent")
        again = kind.load(folder + "/agent", agent.get_env(), device="cpu")
    same = all(torch.equal(p, q) for p, q in zip(agent.policy.parameters(), again.policy.parameters()))
    return [watch.rewards[-8:], [p.detach() for p in agent.policy.parameters()], again.predict(seen, deterministic=True)[0], same,
            {name: value for name, value in agent.logger.name_to_value.items() if "time" not in name and "fps" not in name}]


def worlds() -> list:
    many = VecNormalize(DummyVecEnv([Walk] * 3))
    agent = PPO("MlpPolicy", many, n_steps=16, batch_size=24, n_epochs=2, seed=0, policy_kwargs=SMALL, device="cpu", target_kl=0.05,
                clip_range_vf=0.2, normalize_advantage=True)
    agent.learn(96)
    many.training = False
    return [[p.detach() for p in agent.policy.parameters()], list(evaluate_policy(agent, many, n_eval_episodes=3)), many.obs_rms.mean]


def checked() -> list:
    check_env(Walk(), warn=False)
    return str(PPO("MlpPolicy", Walk(), device="cpu", policy_kwargs={"activation_fn": torch.nn.ELU,
                                                                     "ortho_init": False}).policy).splitlines()


def pictures() -> list:
    world = FakeImageEnv(screen_height=36, screen_width=36, n_channels=1, discrete=True)
    world.observation_space.seed(0)
    return learned(A2C, world, "CnnPolicy", 16, policy_kwargs={"features_extractor_kwargs": {"features_dim": 8}})


def goals() -> list:
    return learned(DQN, BitFlippingEnv(n_bits=4, continuous=False, max_steps=4), "MultiInputPolicy", 64,
                   replay_buffer_class=HerReplayBuffer,
                   replay_buffer_kwargs={"n_sampled_goal": 2, "goal_selection_strategy": "future"}, **LATE)


CASES = {
    "PPO": lambda: learned(PPO, Walk(), n_steps=32, batch_size=16, n_epochs=2), "PPO far": lambda: learned(PPO, Walk(True), n_steps=32,
                                                                                                           batch_size=16, n_epochs=2,
                                                                                                           ent_coef=0.01),
    "PPO exploring": lambda: learned(PPO, Walk(True), n_steps=32, batch_size=16, n_epochs=2, use_sde=True, sde_sample_freq=4),
    "A2C": lambda: learned(A2C, Walk()), "A2C Adam": lambda: learned(A2C, "CartPole-v1", use_rms_prop=False, gae_lambda=0.9),
    "DQN": lambda: learned(DQN, Walk(), **LATE), "SAC": lambda: learned(SAC, "Pendulum-v1", **LATE),
    "SAC exploring": lambda: learned(SAC, Walk(True), use_sde=True, **LATE),
    "TD3": lambda: learned(TD3, "Pendulum-v1", action_noise=NormalActionNoise(np.zeros(1), 0.1 * np.ones(1)), **LATE),
    "DDPG": lambda: learned(DDPG, Walk(True), action_noise=OrnsteinUhlenbeckActionNoise(np.zeros(2), 0.1 * np.ones(2)), **LATE),
    "pictures": pictures,
    "many seen": lambda: learned(PPO, SimpleMultiObsEnv(random_start=False), "MultiInputPolicy", 32, n_steps=16, batch_size=8, n_epochs=1),
         "goals": goals, "worlds": worlds, "checked": checked}
