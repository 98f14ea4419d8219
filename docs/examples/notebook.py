# %% [markdown]
# # How far does one node go?
#
# A notebook in the form that editors and Jupyter (through jupytext) read: cells begin with `# %%`.
# It needs shardsim's Python module (docs/python.md); with pandas, tables are frames.

# %%
import shardsim

NODE = {"cluster": {"name": "dgx-h100"}, "model": {"config": "llama-3-8b"}}

# %% [markdown]
# ## Strategies side by side
#
# A list of strategies, or of values of any key, makes a grid.

# %%
runs = shardsim.compare({**NODE, "training": {"seq_len": 4096},
                         "strategies": ["fsdp2", "zero1", "zero2", "zero3"]})
for run in runs:
    speed = f"{run.tokens_per_s_per_gpu:7.0f} tokens/s/GPU" if run.fits else "does not fit"
    print(f"{run.strategy:8} {run.peak_device_gib:6.1f} GiB  {speed}")
best = runs.best()
assert best is not None
print(f"best: {best.strategy}, bound by {best.binding_resource}")

# %% [markdown]
# ## Where its time goes

# %%
parts = {key[len("time_"):-len("_s")]: value for key, value in best.items()
         if key.startswith("time_") and value}
for part, seconds in sorted(parts.items(), key=lambda item: -item[1]):
    print(f"{part:14} {seconds * 1e3:7.1f} ms  {'#' * round(40 * seconds / best.step_time_s)}")

# %% [markdown]
# ## Longer sequences: what still fits

# %%
longer = shardsim.compare({**NODE, "training": {"seq_len": [8192, 16384, 32768, 65536],
                                                "activation_checkpointing": "full"}},
                          strategy=best.strategy)
try:
    frame = longer.to_frame()
except ImportError:  # no pandas: rows are dicts
    for run in longer:
        print(run.seq_len, run.fits, round(run.peak_device_gib, 1))
else:
    print(frame[["seq_len", "fits", "peak_device_gib", "tokens_per_s_per_gpu"]].to_string())

# %% [markdown]
# ## Which configuration is the best
#
# A search chooses what is left open, here micro-batch and checkpointing of the strategy above.

# %%
found = shardsim.search({**NODE, "training": {"seq_len": 8192, "global_batch": 64}},
                        strategy=best.strategy, only=True,
                        vary={"micro_batch": [1, 2, 4],
                              "activation_checkpointing": ["none", "selective", "full"]})
for run in found:
    print(f"{run.options:55} {run.tokens_per_s_per_gpu:7.0f} tokens/s/GPU")
assert found.answer is not None
print(f"answer: {found.answer.options}")
