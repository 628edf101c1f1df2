// Says fixed sentences of the checks in the reader's language: those that verification, environment and task
// metrics put together in English, with names and numbers in their places.
#pragma once

#include <string>
#include <string_view>

#include "plinth/report/languages.h"

namespace plinth {

// The sentence in that language where one of the table has its shape, else as it stands. Parts between "; ",
// and what follows "NAME: ", are looked up by themselves where the whole is not known. Names and numbers
// stay.
std::string Said(Language language, std::string_view sentence);

}  // namespace plinth
