#include "plinth/base/version.h"

namespace plinth {

constinit const std::string_view kVersion = PLINTH_VERSION;

}  // namespace plinth
