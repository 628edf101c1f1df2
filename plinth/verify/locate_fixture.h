// Writes captures of invented runs and looks for where they part.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <random>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "plinth/formats/json.h"
#include "plinth/tensor/half.h"
#include "plinth/tensor/tensor.h"
#include "plinth/verify/locate.h"

namespace plinth::verify {

using formats::CaptureEntry;
using formats::CaptureInfo;
using formats::CaptureWriter;
using formats::JsonValue;
using testing::HasSubstr;

// What an invented run computes: for each layer the relative error in its output, in a free run.
struct MadeRun {
  int layers = 64;
  std::function<double(int)> error = [](int) { return 0.0; };
  bool full = true;
  bool inside = false;     // a layer's parts too: norm, q, attention and its operators
  std::string wrong_part;  // the part in which the error begins; parts before it agree
  int wrong_layer = -1;    // where it does
  DType dtype = DType::kF32;
  int every = 1;       // record every so many layers
  uint64_t noise = 0;  // seed of the error's pattern
  std::string framework = "torch";
  std::string model_digest, inputs_digest;
  bool forced = false;
  int64_t rank = 0, world = 1;
  JsonValue precision;
  std::string prefix = "encoder.block.";
  bool transposed = false;  // what is [24, 32] lies as [32, 24]
};

class LocateTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "/plinth_locate_XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string Path(const std::string& name) const { return folder_ + "/" + name; }

  // A value of `name`, equal in every run but for an error of that relative size.
  static Tensor Value(const std::string& name, double error, const MadeRun& run) {
    constexpr int64_t kRows = 24, kColumns = 32;
    Tensor t(run.dtype, {kRows, kColumns});
    std::mt19937_64 random(std::hash<std::string>()(name));
    std::mt19937_64 pattern(run.noise + 17 * std::hash<std::string>()(name));
    std::normal_distribution<double> normal, other;  // each keeps numbers of its own engine
    for (int64_t i = 0; i < t.size(); ++i) {
      const double base = normal(random);
      const double x = base + error * other(pattern);
      if (run.dtype == DType::kBF16) {
        t.data<BFloat16>()[i] = ToBFloat16(static_cast<float>(x));
      } else if (run.dtype == DType::kF16) {
        t.data<Half>()[i] = ToHalf(static_cast<float>(x));
      } else {
        t.data<float>()[i] = static_cast<float>(x);
      }
    }
    return t;
  }

  static Tensor Transposed(const Tensor& t) {
    const int64_t rows = t.dims()[0], columns = t.dims()[1];
    Tensor out(DType::kF32, {columns, rows});
    for (int64_t i = 0; i < t.size(); ++i) {
      out.data<float>()[i % columns * rows + i / columns] = t.data<float>()[i];
    }
    return out;
  }

  // Sets the last bytes of the capture's only tensor file to zero: after the fact, so that no digest knows.
  void SpoilEnd(const std::string& name) const {
    const std::string file = Path(name) + "/tensors-00001-of-00001.safetensors";
    std::fstream out(file, std::ios::in | std::ios::out | std::ios::binary);
    out.seekp(-64, std::ios::end);
    out.write(std::string(64, '\0').data(), 64);
    ASSERT_TRUE(out.good());
  }

  void Write(const std::string& name, const MadeRun& run) const {
    CaptureInfo info;
    info.producer = JsonValue(
        JsonValue::Object{{"name", JsonValue(std::string("test"))}, {"framework", JsonValue(run.framework)}});
    info.model_name = "m";
    info.model_digest = run.model_digest;
    info.inputs_digest = run.inputs_digest;
    info.forced = run.forced;
    info.rank = run.rank;
    info.world = run.world;
    info.precision = run.precision;
    auto writer = CaptureWriter::Create(Path(name), info);
    ASSERT_TRUE(writer.ok()) << writer.status();
    const auto add = [&](const std::string& entry_name, const std::string& op, double error) {
      CaptureEntry entry;
      entry.name = entry_name;
      entry.op = op;
      // Values go by the name that all runs share.
      const bool layer = entry_name.starts_with(run.prefix);
      const Tensor value = Value(
          layer ? StrCat("encoder.block.", entry_name.substr(run.prefix.size())) : entry_name, error, run);
      ASSERT_TRUE(
          writer->Add(entry, run.transposed ? Transposed(value).view() : value.view(), run.full).ok());
    };
    add("embed", "embedding", 0);
    for (int i = 0; i < run.layers; ++i) {
      const std::string at = StrCat(run.prefix, i);
      if (run.inside) {
        // Of the wrong layer: right up to the wrong part. Of later ones: the drift that came in.
        bool wrong = i > run.wrong_layer && run.wrong_layer >= 0;
        for (const char* part : {"/norm.0", ".attn.q", ".attn/softmax.0", ".attn.o", ".mlp"}) {
          wrong = wrong || (i == run.wrong_layer && part == run.wrong_part);
          const std::string text = part;
          const size_t slash = text.find('/');
          const std::string op =
              slash == text.npos ? "module" : text.substr(slash + 1, text.size() - slash - 3);
          add(at + part, op, wrong ? run.error(i) : 0);
        }
      }
      if ((i + 1) % run.every == 0) add(at, "module", run.error(i));
    }
    add("encoder.final_norm", "layer_norm", run.error(run.layers - 1));
    ASSERT_TRUE(writer->Finish().ok());
  }

  LocateResult Find(const std::string& reference, const std::string& output,
                    const std::function<void(LocateOptions&)>& change = {}) const {
    LocateOptions options;
    options.reference = Path(reference);
    options.output = Path(output);
    if (change) change(options);
    const auto result = Locate(options);
    EXPECT_TRUE(result.ok()) << result.status();
    return result.ok() ? *result : LocateResult();
  }
  std::string Refusal(const std::string& reference, const std::string& output,
                      const std::function<void(LocateOptions&)>& change = {}) const {
    LocateOptions options;
    options.reference = Path(reference);
    options.output = Path(output);
    if (change) change(options);
    const auto result = Locate(options);
    if (result.ok()) return "accepted";
    EXPECT_EQ(ExitCode(result.status()), 2);
    return std::string(result.status().message());
  }
  std::string folder_;
};

inline std::function<double(int)> From(int layer, double error) {
  return [=](int i) { return i < layer ? 0 : error; };
}

}  // namespace plinth::verify
