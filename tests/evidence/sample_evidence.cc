// Writes a unit of evidence and the public key that checks it, for tools that know nothing of Plinth.
// Usage: plinth_sample_evidence FOLDER; prints the unit's folder. The key is
// FOLDER/config/evidence-key.pub.pem.
#include <cstdio>

#include "plinth/base/files.h"
#include "plinth/evidence/keys.h"
#include "plinth/evidence/sample_unit.h"

int main(int argc, char** argv) {
  using namespace plinth;
  if (argc != 2) return 2;
  const auto key = evidence::LoadOrMakeLocalKey(JoinPath(argv[1], "config"));
  if (!key.ok()) return std::fprintf(stderr, "%s\n", std::string(key.status().message()).c_str()), 1;
  const auto written = evidence::WriteEvidence(JoinPath(argv[1], "evidence"), evidence::SampleUnit(),
                                               evidence::SampleFiles(), key->key);
  if (!written.ok()) return std::fprintf(stderr, "%s\n", std::string(written.status().message()).c_str()), 1;
  std::printf("%s\n", written->newest.c_str());
  return 0;
}
