#include "apps/plinth/evidence_state.h"

namespace plinth::app {

evidence::GateResult EvidenceOf(const engine::Session& session, const plan::NumericsIdentity& identity,
                                const evidence::Envelope& sizes, const std::string& wanted) {
  evidence::GateRequest request;
  request.identity = identity;
  request.sizes = sizes;
  request.model_name = session.folder().name();
  request.model = session.folder().path();
  request.folders = evidence::SearchFolders(wanted, session.folder().path());
  const StatusOr<std::string> keys_at = evidence::KeyFolder();
  const auto keys = evidence::TrustedKeys::Load(keys_at.value_or(""), {});
  evidence::GateResult result = Check(request, keys.ok() ? *keys : evidence::TrustedKeys());
  if (!keys.ok()) result.sentence = std::string(keys.status().message());
  return result;
}

void AddEvidenceOption(CLI::App* command, std::string* folder) {
  command->add_option("--evidence", *folder,
                      "where to look for evidence first (then the system's folder and the model's)");
}

}  // namespace plinth::app
