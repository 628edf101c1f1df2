// Makes a unit of evidence, whole and passing, for tests.
#pragma once

#include <string>
#include <vector>

#include "plinth/base/digest.h"
#include "plinth/evidence/evidence_folder.h"

namespace plinth::evidence {

// A unit that is whole and passes.
inline Unit SampleUnit(const std::string& finished = "2026-11-30T18:30:00.125Z") {
  Unit unit;
  const std::string config = *Sha256Hex("config"), weights = *Sha256Hex("weights");
  unit.model_name = "plinth-ts-0";
  unit.model_files = {{"config.json", config, *Sm3Hex("config")}, {"model.safetensors", weights, ""}};
  const std::string model = *Sha256Hex(StrCat(config, "  config.json\n", weights, "  model.safetensors\n"));
  unit.identity.parts = {{"model", model},
                         {"graph", *Sha256Hex("graph")},
                         {"precision", "f32"},
                         {"kernels", "linear=own"},
                         {"isa", "v3"},
                         {"libraries", "glibc 2.36"},
                         {"flags", "gcc 12.2.0 -O3"},
                         {"device", "cpu"},
                         {"driver", "none"},
                         {"version", "0.1.0"}};
  unit.envelope = {64, 512, 96};
  unit.run = "00112233445566778899aabbccddeeff";
  unit.started = "2026-11-30T18:29:00Z";
  unit.finished = finished;
  unit.checklist = Unit::EmptyChecklist();
  for (ChecklistItem& item : unit.checklist) item.answer = Answer::kYes, item.text = "measured";
  unit.layers = {{"operators", Answer::kYes, "9 compared"},
                 {"task", Answer::kYes, "MASE 0.81 on both sides"}};
  unit.asked = {{"layers.golden_cases", AskedItem::Covers::kSame, *Sha256Hex("cases"), 0},
                {"run.repeats", AskedItem::Covers::kAtLeast, "", 5},
                {"task.band.mase", AskedItem::Covers::kAtMost, "", 0.005}};
  unit.inputs = {{"cases.safetensors", *Sha256Hex("cases"), *Sm3Hex("cases")}};
  unit.reference = {{"double", *Sha256Hex("reference"), ""}};
  unit.rules_sha256 = *Sha256Hex("rules");
  unit.tool = {"plinth", "0.1.0", "884d944", *Sha256Hex("binary")};
  unit.environment_json = R"({"schema":"plinth.environment/1","facts":[]})";
  unit.performance_json = R"({"ms":{"p50":1.25},"ratio":null})";
  unit.repeats = 5;
  unit.seeds = {1, -2};
  unit.waivers = {{"layer 3", "A. Person", "known \"rounding\"", "2027-01-31"}};
  unit.limits = {"one processor only"};
  unit.reproduce = "plinth accept --model plinth-ts-0 --repeats 5";
  return unit;
}

inline std::vector<EvidenceFile> SampleFiles() {
  return {{"records.jsonl",
           "{\"case\":\"a\",\"status\":\"passed\"}\n{\"case\":\"b\",\"status\":\"warned\"}\n"
           "{\"summary\":true,\"compared\":2}\n",
           ""},
          {"report.html", "<!doctype html><p>passed</p>\n", ""},
          {"captures/candidate/capture.json", "{}\n", ""}};
}

}  // namespace plinth::evidence
