#include "plinth/evidence/python_packages.h"

#include "plinth/base/text.h"
#include "plinth/evidence/text_fields.h"

namespace plinth::evidence {

// torch/version.py is read as text: importing torch takes seconds and may start a device.
const std::string_view kPackageScript = R"PY(
import json, os, sys
out = {"python": sys.version.split()[0], "executable": sys.executable, "packages": {}}
names = ("torch torchvision torchaudio pytorch-triton pytorch-triton-rocm triton vllm sglang lightop lmslim aiter "
         "deep-ep flash-attn deepspeed transformer-engine apex xformers transformers accelerate onnxruntime "
         "onnxruntime-gpu jax jaxlib tensorflow paddlepaddle paddlepaddle-gpu paddlepaddle-dcu mmcv cupy dgl numpy "
         "scipy safetensors chronos-forecasting gluonts sktime").split()
try:
    from importlib import metadata
    for name in names:
        try:
            out["packages"][name] = metadata.version(name)
        except Exception:
            pass
    from importlib import util
    spec = util.find_spec("torch")
    if spec is not None and spec.origin:
        folder = os.path.dirname(spec.origin)
        torch = {"folder": folder}
        with open(os.path.join(folder, "version.py"), encoding="utf-8", errors="replace") as lines:
            for line in lines.read(20000).splitlines():
                name, equals, value = line.partition("=")
                name = name.split(":")[0].strip()
                if equals and name in ("cuda", "hip"):
                    torch[name] = value.strip().strip("\"" + chr(39))
        out["torch"] = torch
except Exception as error:
    out["error"] = str(error)[:200]
sys.stdout.write(json.dumps(out) + "\n")
)PY";

ToolCommand PythonTool(const std::string& interpreter) {
  return {"python", interpreter, {"-c", std::string(kPackageScript)}};
}

WheelVersion ParseWheelVersion(std::string_view version) {
  WheelVersion wheel;
  const size_t plus = version.find('+');
  wheel.base = FirstLine(version.substr(0, plus));
  if (plus == version.npos) return wheel;
  const std::string_view local = version.substr(plus + 1);
  for (const std::string_view part : Words(local, ".-_")) {
    if (part.starts_with("opt")) wheel.das = std::string(part);
  }
  const size_t dtk = local.find("dtk");
  if (dtk == local.npos) return wheel;
  std::string digits = VersionAfter(local, "dtk");
  // "2504" is 25.04, "25044" is 25.04.4; newer names may have the dots already.
  if (digits.find('.') == digits.npos && digits.size() >= 4) {
    digits =
        StrCat(digits.substr(0, 2), ".", digits.substr(2, 2), digits.size() > 4 ? "." : "", digits.substr(4));
  }
  wheel.dtk = std::move(digits);
  return wheel;
}

}  // namespace plinth::evidence
