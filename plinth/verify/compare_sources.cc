#include "plinth/verify/compare_sources.h"

#include <algorithm>
#include <cctype>
#include <tuple>

#include "plinth/base/files.h"
#include "plinth/verify/element.h"

namespace plinth::verify {
namespace {

bool EndsWith(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

std::string FolderOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == path.npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}

}  // namespace

StatusOr<TensorSource> TensorSource::Open(const std::string& path) {
  TensorSource source;
  source.path_ = path;
  constexpr formats::SafetensorsOptions kAllTypes = {.stand_ins = true};
  const bool folder = IsFolder(path);
  const bool index = !folder && EndsWith(path, ".index.json");
  const bool weights = folder && (FileExists(JoinPath(path, "model.safetensors")) ||
                                  FileExists(JoinPath(path, "model.safetensors.index.json")));
  if (index || weights) {
    PLINTH_ASSIGN_OR_RETURN(auto opened, formats::OpenWeights(index ? FolderOf(path) : path, kAllTypes));
    source.weights_ = std::make_unique<formats::WeightFiles>(std::move(opened));
  } else if (folder || EndsWith(path, "capture.json")) {
    auto opened = formats::OpenCaptures(folder ? path : FolderOf(path));
    if (!opened.ok() && opened.status().code() == absl::StatusCode::kNotFound && folder) {
      return absl::NotFoundError(
          StrCat(path, ": holds neither a capture (capture.json) nor model.safetensors nor its index"));
    }
    if (!opened.ok()) return opened.status();
    source.captures_ = std::make_unique<std::vector<formats::Capture>>(*std::move(opened));
  } else {
    PLINTH_ASSIGN_OR_RETURN(auto opened, formats::OpenWeightsFile(path, kAllTypes));
    source.weights_ = std::make_unique<formats::WeightFiles>(std::move(opened));
  }
  if (source.weights_ != nullptr) {
    source.TakeWeights();
  } else {
    PLINTH_RETURN_IF_ERROR(source.TakeCaptures());
  }
  return source;
}

void TensorSource::TakeWeights() {
  std::vector<const formats::ConstTensorRef*> order;
  for (const auto& t : weights_->tensors()) order.push_back(&t);
  std::vector<std::pair<std::string_view, const std::byte*>> place(order.size());
  for (size_t i = 0; i < order.size(); ++i) place[i] = {weights_->FileOf(*order[i]), order[i]->data};
  std::vector<size_t> by_place(order.size());
  for (size_t i = 0; i < by_place.size(); ++i) by_place[i] = i;
  std::stable_sort(by_place.begin(), by_place.end(), [&](size_t x, size_t y) { return place[x] < place[y]; });
  SourcePart part;
  for (const size_t i : by_place) {
    const formats::ConstTensorRef& t = *order[i];
    SourceTensor tensor;
    tensor.name = std::string(t.name);
    tensor.index = static_cast<int64_t>(part.tensors.size());
    tensor.dims.assign(t.dims.begin(), t.dims.end());
    tensor.dtype = std::string(InfoOf(ElementOf(t)).name);
    tensor.tensor = &t;
    part.tensors.push_back(std::move(tensor));
  }
  parts_.push_back(std::move(part));
}

Status TensorSource::TakeCaptures() {
  for (const formats::Capture& capture : *captures_) {
    SourcePart part;
    part.info = &capture.info();
    part.capture = &capture;
    part.rank = capture.info().rank, part.world = capture.info().world, part.repeat = capture.info().repeat;
    for (const formats::CaptureEntry& entry : capture.entries()) {
      SourceTensor tensor;
      tensor.name = entry.name;
      tensor.suffix = entry.Key().substr(entry.name.size());
      tensor.index = entry.index;
      tensor.op = entry.op;
      tensor.dims = entry.dims;
      tensor.dtype = entry.dtype;
      tensor.tensor = capture.Tensor(entry);
      tensor.entry = &entry;
      part.tensors.push_back(std::move(tensor));
    }
    parts_.push_back(std::move(part));
  }
  std::sort(parts_.begin(), parts_.end(), [](const SourcePart& x, const SourcePart& y) {
    return std::tie(x.rank, x.repeat) < std::tie(y.rank, y.repeat);
  });
  for (size_t i = 1; i < parts_.size(); ++i) {
    if (parts_[i].rank == parts_[i - 1].rank && parts_[i].repeat == parts_[i - 1].repeat) {
      return absl::InvalidArgumentError(StrCat(path_, ": ", parts_[i - 1].capture->folder(), " and ",
                                               parts_[i].capture->folder(), " are both rank ", parts_[i].rank,
                                               ", repeat ", parts_[i].repeat,
                                               "; one capture of each is expected"));
    }
  }
  return absl::OkStatus();
}

void TensorSource::ReleasePages(const SourcePart& part, const SourceTensor& tensor) const {
  if (tensor.tensor == nullptr) return;
  if (part.capture != nullptr) return part.capture->ReleasePages(*tensor.entry);
  weights_->ReleasePages(*tensor.tensor);
}

Status CheckSameOrigin(const TensorSource& reference, const TensorSource& candidate) {
  if (!reference.is_capture() || !candidate.is_capture()) return absl::OkStatus();
  const formats::CaptureInfo& a = *reference.parts().front().info;
  for (const SourcePart& part : candidate.parts()) {
    const formats::CaptureInfo& b = *part.info;
    const auto differ = [&](std::string_view what, const std::string& x, const std::string& y) -> Status {
      if (x.empty() || y.empty() || x == y) return absl::OkStatus();
      return absl::InvalidArgumentError(
          StrCat(candidate.path(), ": was captured with other ", what, " than ", reference.path(),
                 " (sha256 ", y.substr(0, 12), " and ", x.substr(0, 12), "); captures of the same ", what,
                 " are expected, --allow-different compares them all the same"));
    };
    PLINTH_RETURN_IF_ERROR(differ("weights", a.model_digest, b.model_digest));
    PLINTH_RETURN_IF_ERROR(differ("inputs", a.inputs_digest, b.inputs_digest));
  }
  return absl::OkStatus();
}

}  // namespace plinth::verify
