// Records a run as a capture while it computes: module outputs, operators' inputs and outputs, or what
// follows when values of a reference take their place.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "plinth/engine/runner.h"
#include "plinth/formats/capture.h"
#include "plinth/formats/capture_plan.h"

namespace plinth::engine {

struct RecordOptions {
  // What to record; the first record whose name fits a module counts, one in full before one of statistics.
  std::vector<formats::CapturePlan::Record> records;
  // Teacher forcing: once a module's output is recorded, that of this capture takes its place, so that each
  // module computes from the reference's inputs. Null: none. Borrowed.
  const formats::Capture* forced_by = nullptr;
  // A module output and the capture that holds the tensor to put there. Borrowed.
  std::vector<std::pair<std::string, const formats::Capture*>> replaced;
};

// Watches the runs of one forecast. Names of entries: of module outputs the model's own (its checkpoint's
// module paths), for operators "SCOPE/OP.N" ("/OP.N" outside any module), N counting that operator in its
// scope; op "input" for what goes into the network. The pass is the entry's step.
class Recorder : public RunObserver {
 public:
  // `writer` and what `options` borrow must outlive the recorder.
  Recorder(RecordOptions options, formats::CaptureWriter* writer)
      : options_(std::move(options)), writer_(writer), done_(options_.replaced.size()) {}

  bool reads_constants() const override;
  // Errors: InvalidArgument for a replacement that the network has no value for, or that is of another shape
  // or type; those of the writer.
  Status Begin(int64_t pass, plan::Workspace& workspace) override;
  Status Before(size_t step, plan::Workspace& workspace) override;
  Status After(size_t step, plan::Workspace& workspace) override;

  // How many entries were written and how many values were replaced so far.
  int64_t recorded() const { return recorded_; }
  int64_t replaced() const { return replaced_; }
  // To be asked at the end. Errors: InvalidArgument naming the first replacement that has not taken place,
  // and where the forcing capture held no tensor of anything that was recorded.
  Status CheckReplaced() const;

 private:
  struct Module {
    std::string name;
    int value = -1;
    std::string op = "module";
    const formats::CapturePlan::Record* record = nullptr;  // null: not recorded
  };

  void FindModules(const plan::Plan& plan);
  void NameOperators(const plan::Plan& plan);
  const formats::CapturePlan::Record* RecordOf(std::string_view name) const;
  const formats::CapturePlan::Record* OperatorRecordOf(std::string_view scope) const;
  Status Visit(const std::vector<Module>& modules, plan::Workspace& workspace);
  Status RecordPorts(size_t step, bool inputs, plan::Workspace& workspace);
  Status Put(formats::CaptureEntry entry, int value, bool full, const plan::Workspace& workspace);
  Status Replace(const Module& module, plan::Workspace& workspace);
  Status CopyFrom(const formats::Capture& reference, const Module& module, bool must,
                  plan::Workspace& workspace);

  RecordOptions options_;
  formats::CaptureWriter* writer_;
  int64_t pass_ = 0, recorded_ = 0, replaced_ = 0;
  const plan::Plan* plan_ = nullptr;              // what the tables below are made for
  std::vector<Module> at_begin_;                  // of values that are there before the first step
  std::vector<std::vector<Module>> by_step_;      // of values that a step makes
  std::vector<std::string> operators_;            // names, by step
  std::map<int, formats::CaptureEntry> written_;  // by value: what was written of it and is still true
  std::vector<uint8_t> done_;                     // by replacement
};

// An operator's attributes as captures hold them.
formats::JsonValue ToJson(const ops::Attributes& attributes);

}  // namespace plinth::engine
