// Lists the subcommands, one per file.
#pragma once

namespace plinth::app {

class Program;

void AddForecast(Program& program);
void AddBacktest(Program& program);
void AddCapture(Program& program);
void AddLocate(Program& program);
void AddModels(Program& program);
void AddPlan(Program& program);
void AddMetrics(Program& program);
void AddVerify(Program& program);
void AddReplay(Program& program);
void AddBench(Program& program);
void AddCompare(Program& program);
void AddAccept(Program& program);
void AddEnv(Program& program);
void AddEvidence(Program& program);
void AddServe(Program& program);
void AddDetect(Program& program);
void AddRelate(Program& program);

}  // namespace plinth::app
