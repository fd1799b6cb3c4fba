"""A worn machine: run it, oil it, repair it or replace it? One exact step from the crew's habit.

Run it as `python examples/machine_repair.py`; it also writes machine_repair.json for `odrpo solve`.
"""

import json
from pathlib import Path

import numpy as np

import odrpo

STATES = ["new", "good", "fair", "worn", "poor", "broken"]
ACTIONS = ["run", "oil", "repair", "replace"]
DISCOUNT = 0.9
OUTPUT = np.array([10.0, 9.0, 7.0, 4.0, 1.0, -5.0])
PRICE = np.array([0.0, 1.0, 4.0, 12.0])

# transitions[s, a, t]: running wears by one with 0.5, oiling with 0.2; a repair mends by two.
transitions = np.zeros((6, 4, 6))
for s in range(6):
    for action, wear in enumerate([0.5, 0.2]):
        transitions[s, action, s] += 1 - wear
        transitions[s, action, min(s + 1, 5)] += wear
    transitions[s, 2, max(s - 2, 0)] = 1
    transitions[s, 3, 0] = 1
rewards = OUTPUT[:, None] - PRICE[None, :]

# The crew mostly runs the machine. Its exact values, advantages and visits, starting from new:
policy = np.tile([0.70, 0.15, 0.10, 0.05], (6, 1))
step = np.einsum("sa,sat->st", policy, transitions)
resolvent = np.linalg.inv(np.eye(6) - DISCOUNT * step)
values = resolvent @ (policy * rewards).sum(axis=1)
advantages = rewards + DISCOUNT * transitions @ values - values[:, None]
visits = resolvent[0]

# Habits change along a line: from running to oiling is a smaller change than to replacing.
effort = np.abs(np.subtract.outer(np.arange(4.0), np.arange(4.0)))
for metric in [odrpo.KL(), odrpo.Wasserstein(), odrpo.Wasserstein(effort), odrpo.Sinkhorn(effort)]:
    found = odrpo.solve(advantages, policy, radius=0.1, metric=metric, weights=visits)
    name = type(metric).__name__
    print(f"{name:12} gain {found.gain:.4f}  beta* {found.beta:7.4f}  gap {found.gap:.0e}")

problem = {"states": STATES, "actions": ACTIONS, "radius": 0.1, "metric": "wasserstein"}
problem |= {"advantages": advantages.round(6).tolist(), "policy": policy.tolist()}
problem |= {"weights": (visits / visits.sum()).round(6).tolist()}
Path(__file__).with_suffix(".json").write_text(json.dumps(problem, indent=1))
