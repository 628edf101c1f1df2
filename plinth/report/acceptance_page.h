// Writes an acceptance as one self-contained HTML page that a manager and an engineer can both read.
#pragma once

#include <string>

#include "plinth/report/acceptance_view.h"

namespace plinth {

// What the verdict means for those who want to use the model.
Message MeaningOf(const AcceptanceView& view);

// The whole page, without scripts; it needs no network and allows none. All texts are taken as hostile.
std::string AcceptancePage(const AcceptanceView& view, Language language);

}  // namespace plinth
