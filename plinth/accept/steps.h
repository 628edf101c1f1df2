// Names the steps of an acceptance.
#pragma once

#include "plinth/accept/work.h"

namespace plinth::accept {

// Errors: what keeps a step from being done; what it found bad is no error.
Status CheckEnvironment(Work& work);
Status CheckInputs(Work& work);
Status CheckTask(Work& work);
Status CheckPerformance(Work& work);
// For a model that Plinth runs.
Status CheckPlanOperators(Work& work);
Status CheckModelLayers(Work& work);
Status CheckModelRepeats(Work& work);
// For what another framework recorded.
Status CheckCaptureOperators(Work& work);
Status CheckCaptureLayers(Work& work);
Status CheckCaptureRepeats(Work& work);

}  // namespace plinth::accept
