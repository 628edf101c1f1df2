#include "plinth/verify/metrics/sample_output.h"

#include "plinth/base/files.h"
#include "plinth/formats/json_writer.h"

namespace plinth::verify::metrics {

Status WriteSamples(const std::string& path, const Task& task, const std::vector<std::string>& ids) {
  PLINTH_ASSIGN_OR_RETURN(AtomicWriter file, AtomicWriter::Create(path));
  std::string text;
  formats::JsonWriter w(&text);
  for (size_t i = 0; i < ids.size(); ++i) {
    w.BeginObject();
    w.Key("id"), w.String(ids[i]);
    for (const SampleMetric& m : task.metrics) {
      if (i >= m.candidate.size() || m.Weight(i) == 0) continue;
      // Largest and smallest values are not weighted.
      const double weight = m.fold == SampleMetric::Fold::kMean ? m.Weight(i) : 1;
      const double reference = m.Reference(i) / weight, candidate = m.candidate[i] / weight;
      w.Key(m.name), w.BeginObject();
      if (!m.between) w.Key("reference"), w.Number(reference);
      w.Key("candidate"), w.Number(candidate);
      if (!m.between) w.Key("difference"), w.Number(candidate - reference);
      w.EndObject();
    }
    w.EndObject();
    w.EndLine();
    PLINTH_RETURN_IF_ERROR(file.Write(text));
    text.clear();
  }
  return file.Commit();
}

}  // namespace plinth::verify::metrics
