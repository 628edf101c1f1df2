"""Makes a model folder of a published Chronos shape with random weights, for benchmarks and comparisons.

config.json holds the published sizes; names and shapes of the weights are those of the original classes, so
both sides load the folder like a published one. Weights come from a fixed seed and are large enough that
every term shows in the output.

  bench/peers/chronos/make_model.py chronos-bolt-small build/peers/chronos/chronos-bolt-small
"""
import argparse
import json
import math
import os
import sys

# Sizes as published: d_model, d_ff, layers (of the encoder, and of the decoder where there is one), heads.
BOLT = {
    "chronos-bolt-tiny": (256, 1024, 4, 4),
    "chronos-bolt-mini": (384, 1536, 4, 8),
    "chronos-bolt-small": (512, 2048, 6, 8),
    "chronos-bolt-base": (768, 3072, 12, 12),
}
CHRONOS2 = {
    "chronos-2-small": (512, 2048, 6, 8),
    "chronos-2": (768, 3072, 12, 12),
}
SHAPES = sorted([*BOLT, *CHRONOS2])


def stack(sizes):
    d_model, d_ff, layers, heads = sizes
    return {
        "d_ff": d_ff, "d_kv": 64, "d_model": d_model, "dense_act_fn": "relu", "dropout_rate": 0.1,
        "feed_forward_proj": "relu", "initializer_factor": 0.05, "is_gated_act": False,
        "layer_norm_epsilon": 1e-06, "model_type": "t5", "num_heads": heads, "num_layers": layers,
        "pad_token_id": 0, "reg_token_id": 1, "torch_dtype": "float32", "vocab_size": 2,
    }


def config(shape):
    """-> what config.json of that shape holds."""
    if shape in BOLT:
        return {
            "architectures": ["ChronosBoltModelForForecasting"],
            "chronos_config": {
                "context_length": 2048, "input_patch_size": 16, "input_patch_stride": 16,
                "prediction_length": 64, "quantiles": [i / 10 for i in range(1, 10)], "use_reg_token": True,
            },
            "chronos_pipeline_class": "ChronosBoltPipeline",
            **stack(BOLT[shape]),
            "classifier_dropout": 0.0, "decoder_start_token_id": 0, "eos_token_id": 1,
            "is_encoder_decoder": True, "n_positions": 512, "num_decoder_layers": BOLT[shape][2],
            "relative_attention_max_distance": 128, "relative_attention_num_buckets": 32, "use_cache": True,
        }
    return {
        "architectures": ["Chronos2Model"],
        "chronos_config": {
            "context_length": 8192, "input_patch_size": 16, "input_patch_stride": 16,
            "max_output_patches": 64, "output_patch_size": 16,
            "quantiles": [0.01, *(i / 20 for i in range(1, 20)), 0.99],
            "time_encoding_scale": 8192, "use_arcsinh": True, "use_reg_token": True,
        },
        "chronos_pipeline_class": "Chronos2Pipeline",
        **stack(CHRONOS2[shape]),
        "rope_theta": 10000.0,
    }


def network(settings):
    """-> the original class with these sizes, its weights not yet set."""
    if settings["architectures"] == ["Chronos2Model"]:
        from chronos.chronos2.config import Chronos2CoreConfig
        from chronos.chronos2.model import Chronos2Model

        return Chronos2Model(Chronos2CoreConfig(**settings))
    from chronos.chronos_bolt import ChronosBoltModelForForecasting
    from transformers import T5Config

    return ChronosBoltModelForForecasting(T5Config(**settings))


def scale(name, shape, head_size):
    """-> standard deviation of a weight that keeps activations near one.

    The original does not divide attention scores by sqrt(d_kv): queries are made smaller instead.
    """
    if len(shape) == 1:
        return 0.1
    if "relative_attention_bias" in name or name.startswith("shared"):
        return 0.5
    return 1 / math.sqrt(shape[-1] * (head_size if name.endswith(".q.weight") else 1))


def make(shape, folder, seed=20261130):
    """Writes config.json and model.safetensors; a folder that is already complete stays as it is."""
    import torch
    from safetensors.torch import save_file

    marker = os.path.join(folder, "model.safetensors")
    if os.path.exists(marker):
        return
    os.makedirs(folder, exist_ok=True)
    settings = config(shape)
    with torch.device("meta"):
        names = {n: list(p.shape) for n, p in network(json.loads(json.dumps(settings))).named_parameters()}
    generator = torch.Generator().manual_seed(seed)
    weights = {}
    for name, dims in sorted(names.items()):
        if name.endswith("embed_tokens.weight"):
            continue  # tied to shared.weight
        z = torch.randn(dims, generator=generator) * scale(name, dims, settings["d_kv"])
        weights[name] = z + 1 if "norm" in name else z
    with open(os.path.join(folder, "config.json"), "w") as f:
        json.dump(settings, f, indent=1)
        f.write("\n")
    save_file(weights, marker + ".part", metadata={"format": "pt"})
    os.replace(marker + ".part", marker)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("shape", choices=SHAPES)
    parser.add_argument("folder")
    parser.add_argument("--seed", type=int, default=20261130)
    args = parser.parse_args()
    make(args.shape, args.folder, args.seed)
    return 0


if __name__ == "__main__":
    sys.exit(main())
