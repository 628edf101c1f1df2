"""The peers of the Chronos models: PyTorch in eager mode, and ONNX Runtime on the exported network.

Both turn raw contexts into quantiles, scaling included, by the original classes. Contexts of different
lengths are padded on the left with NaN to the longest, as the original does.
"""
import contextlib
import io
import logging
import os
import warnings

import numpy as np
import onnxruntime
import torch
from chronos import BaseChronosPipeline

warnings.filterwarnings("ignore")
logging.getLogger("torch.onnx").setLevel(logging.ERROR)


def pad(contexts):
    """Contexts (1-d arrays) -> [B, longest] f32, NaN on the left."""
    longest = max(len(c) for c in contexts)
    out = np.full((len(contexts), longest), np.nan, dtype=np.float32)
    for row, context in zip(out, contexts):
        row[longest - len(context):] = context
    return out


class Network(torch.nn.Module):
    """The original's forward pass: contexts [B, C] -> quantiles [B, levels, steps]."""

    def __init__(self, folder, horizon):
        super().__init__()
        pipeline = BaseChronosPipeline.from_pretrained(folder)
        self.model = pipeline.model.eval()
        settings = self.model.chronos_config
        self.levels = list(settings.quantiles)
        self.bolt = hasattr(settings, "prediction_length")
        self.patches = None if self.bolt else -(-horizon // settings.output_patch_size)
        self.native = settings.prediction_length if self.bolt else self.patches * settings.output_patch_size

    def forward(self, context):
        more = {} if self.bolt else {"num_output_patches": self.patches}
        return self.model(context=context, **more).quantile_preds


class Torch:
    """Calls the network eagerly."""

    name = "torch"

    def __init__(self, network, contexts, horizon):
        self.network, self.horizon = network, horizon
        self.x = torch.from_numpy(pad(contexts))

    def __call__(self):
        with torch.inference_mode():
            return self.network(self.x)[..., : self.horizon].numpy()


class Onnx:
    """Calls the exported network: the whole forward pass of Bolt, for any batch and a fixed context.

    Chronos-2 has no such peer: ONNX Runtime refuses the exported group mask, an Einsum of booleans.
    """

    name = "onnx"

    def __init__(self, network, contexts, horizon, path, threads, spin):
        self.horizon = horizon
        self.x = pad(contexts)
        path = f"{path}-context{self.x.shape[1]}.onnx"
        if not os.path.exists(path):
            export(network, self.x, path)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.add_session_config_entry("session.intra_op.allow_spinning", str(int(spin)))
        self.session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])

    def __call__(self):
        return self.session.run(None, {"context": self.x})[0][..., : self.horizon]


def export(network, x, path):
    """Writes the network as `path` (weights beside it)."""
    sample = torch.from_numpy(np.repeat(x[:1], 2, 0))  # a batch of one would be taken for a constant
    free = {"context": {0: torch.export.Dim("batch", min=1, max=4096)}}
    with torch.inference_mode(), contextlib.redirect_stdout(io.StringIO()):
        torch.onnx.export(network, (sample,), path + ".part", dynamo=True, input_names=["context"],
                          output_names=["quantiles"], dynamic_shapes=free, external_data=False)
    os.replace(path + ".part", path)
