// Command lines that cannot be run, and the two that only talk.
#include "tests/cli/fixture.h"

namespace plinth::cli {
namespace {

using UsageTest = CliTest;

TEST_F(UsageTest, HelpAndVersion) {
  RunResult run = Run({"--version"});
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_EQ(run.out, "plinth 0.1.0\n");
  EXPECT_EQ(run.err, "");
  for (const std::vector<std::string>& arguments : std::vector<std::vector<std::string>>{
           {"--help"}, {"-h"}, {"forecast", "--help"}, {"models", "show", "-h"}, {"bench", "--help"}}) {
    run = Run(arguments);
    EXPECT_EQ(run.exit_code, 0);
    EXPECT_THAT(run.out, HasSubstr("--help"));
    EXPECT_THAT(run.out, HasSubstr("Usage: "));
    EXPECT_EQ(run.err, "");
  }
  EXPECT_THAT(Run({"--help"}).out,
              testing::AllOf(HasSubstr("forecast"), HasSubstr("backtest"), HasSubstr("models"),
                             HasSubstr("plan"), HasSubstr("bench")));
}

TEST_F(UsageTest, BadCommandLines) {
  struct Case {
    std::vector<std::string> arguments;
    std::string message;
  };
  const std::string forecast = "; see plinth forecast --help";
  const Case cases[] = {
      {{"forecast"}, "--data is required" + forecast},
      {{"forecast", "--nosuch"}, "unknown option --nosuch" + forecast},
      {{"forecast", "--nosuch=5", "-d", "d.csv"}, "unknown option --nosuch" + forecast},
      {{"forecast", "-d", "d.csv", "extra"}, "unexpected argument \"extra\"" + forecast},
      {{"forecast", "--data"}, "--data needs a value" + forecast},
      {{"forecast", "-d", "d.csv", "-H", "1", "-H", "2"}, "--horizon is given more than once" + forecast},
      {{"forecast", "-d", "d.csv", "-H", "0"}, "--horizon: Value 0 not in range 1 to 1048576" + forecast},
      {{"forecast", "-d", "d.csv", "-H", "x"}, "--horizon: Value x not in range 1 to 1048576" + forecast},
      {{"forecast", "-d", "d.csv", "-H", "99999999999999999999"},
       "--horizon: Value 99999999999999999999 not in range 1 to 1048576" + forecast},
      {{"forecast", "-d", "d.csv", "-c", "-3"},
       "--context: Value -3 not in range 1 to 1073741824" + forecast},
      {{"forecast", "-d", "d.csv", "--threads", "0"}, "--threads: Value 0 not in range 1 to 4096" + forecast},
      {{"forecast", "-d", "d.csv", "--seed", "a"}, "--seed = a: a number is expected" + forecast},
      {{"backtest", "-d", "d.csv", "--report", "6,a"},
       "--report = 6,a: a number is expected; see plinth backtest --help"},
      {{"models", "nosuch"},
       "unknown command \"nosuch\"; there are show, list, encrypt, decrypt; see plinth models --help"},
      {{"models"}, "a command is missing; there are show, list, encrypt, decrypt; see plinth models --help"},
      {{"bench", "model", "--batch", "0"},
       "--batch: Value 0 not in range 1 to 1048576; see plinth bench model --help"},
      {{"bench", "model", "--shape", "nosuch"},
       "shape \"nosuch\" is unknown; known shapes are chronos-2, chronos-2-small, chronos-bolt-base, "
       "chronos-bolt-mini, chronos-bolt-small, chronos-bolt-tiny, plinth-ts-0"},
      {{"bench", "model", "--shape", "plinth-ts-0", "--model", "m"},
       "--model excludes --shape; see plinth bench model --help"},
      {{"bench", "model", "--lengths", "32,64", "--context", "64"},
       "--context excludes --lengths; see plinth bench model --help"},
      {{"bench", "model", "--lengths", "64,32"},
       "lengths from 64 to 32 were asked for; the shortest comes first"},
      {{"bench", "model", "--context", "513"}, "the context is 513; plinth_ts takes up to 512 steps"},
      {{"plan", "--batch", "0"}, "--batch: Value 0 not in range 1 to 1048576; see plinth plan --help"},
  };
  for (const Case& c : cases) ExpectError(c.arguments, 2, c.message);
}

TEST_F(UsageTest, UnknownCommandsListTheKnownOnes) {
  for (const auto& [arguments, start] :
       {std::pair<std::vector<std::string>, std::string>{
            {}, "plinth: error: a command is missing; there are forecast, "},
        {{"nosuch"},
         "plinth: error: unknown command \"nosuch\"; there are "
         "forecast, backtest, detect, relate, capture, "},
        {{"--nosuch"}, "plinth: error: unknown option --nosuch; see plinth "}}) {
    const RunResult run = Run(arguments);
    EXPECT_EQ(run.exit_code, 2);
    EXPECT_EQ(run.out, "");
    EXPECT_THAT(run.err, StartsWith(start));
    EXPECT_THAT(run.err, testing::EndsWith("see plinth --help\n"));
  }
}

TEST_F(UsageTest, ValuesThatMakeNoSense) {
  Write("d.csv", HourlyCsv(48));
  const std::string level =
      " is not a level: levels lie between 0 and 1 and are kept to six decimals, for example 0.1,0.5,0.9";
  const std::string alone = "models of the family plinth_ts forecast each series by itself: leave out ";
  const std::string other =
      ", or name a model with --model whose family sees several series, such as chronos2";
  struct Case {
    std::vector<std::string> options;
    int exit_code;
    std::string message;
  };
  const Case cases[] = {
      {{"-q", "0"}, 2, "quantile \"0\"" + level},
      {{"-q", "1"}, 2, "quantile \"1\"" + level},
      {{"-q", "0.1,a"}, 2, "quantile \"a\"" + level},
      {{"-q", "0.1,,0.5"}, 2, "quantile \"\"" + level},
      {{"-q", "nan"}, 2, "quantile \"nan\"" + level},
      {{"-q", ""}, 2, "the list of quantiles is empty; give levels such as 0.1,0.5,0.9"},
      {{"--freq", "1x"},
       2,
       "--freq: frequency \"1x\" is unknown; it can be a whole number and one of us, ms, s, min, h, D, B, W, "
       "M, "
       "MS, ME, Q, QS, QE, Y, YS, YE, for example 30min"},
      {{"--freq", "5m"},
       2,
       "--freq: frequency \"5m\" may mean minutes, months or milliseconds; write min, MS (month starts) or "
       "ms"},
      {{"--time", "none", "--freq", "h"},
       2,
       "--time none numbers the rows: leave out --time-format and --freq"},
      {{"--time-format", "%Y %Q"},
       2,
       "time format \"%Y %Q\": \"%Q\" is unknown; there are %Y %y %m %d %e %j %H %I %p %M %S %f %z %b %B %h "
       "%a "
       "%A %F %T %R %%"},
      {{"--context", "513"}, 2, "--context 513: models of the family plinth_ts take up to 512 steps here"},
      {{"--json", "--chart"}, 2, "--json and --chart both want standard output"},
      {{"--past", "y"}, 2, alone + "--past" + other},
      {{"--future", "y"}, 2, alone + "--future" + other},
      {{"--future", "y", "--future-data", "f.csv"}, 2, alone + "--future and --future-data" + other},
      {{"--categorical", "y"}, 2, alone + "--categorical" + other},
      {{"--joint"}, 2, alone + "--joint" + other},
      {{"--group", "g"}, 2, alone + "--group" + other},
      {{"--cross-learning", "--joint", "--past", "y"},
       2,
       alone + "--past, --joint and --cross-learning" + other},
      {{"--device", "cuda:0"}, 3, "no such device: cuda:0; this installation has cpu"},
      {{"--device", "gpu"}, 2, "device \"gpu\" is unknown; it can be cpu, cuda:N or hip:N"},
      {{"--precision", "bf16"}, 3, "--precision bf16: this version computes in f32 only"},
  };
  for (const Case& c : cases) {
    std::vector<std::string> arguments = {"forecast", "-d", "d.csv"};
    arguments.insert(arguments.end(), c.options.begin(), c.options.end());
    ExpectError(arguments, c.exit_code, c.message);
  }
  ExpectError({"backtest", "-d", "d.csv", "-H", "6", "--report", "24"}, 2,
              "the report asks for the first 24 steps of a horizon of 6; prefixes have 1 to 6 steps");
  ExpectError({"backtest", "-d", "d.csv", "--joint", "--group", "g"}, 2,
              alone + "--joint and --group" + other);
  ExpectError({"plan", "--context", "600"}, 2,
              "--context 600: models of the family plinth_ts take up to 512 steps here");
}

TEST_F(UsageTest, InstructionSets) {
  Write("d.csv", HourlyCsv(100));
  const std::vector<std::string> arguments = {"forecast", "-d", "d.csv", "--json"};
  ExpectError(arguments, 2, "PLINTH_ISA=bad is unknown; it can be v2, v3 or v4",
              {.settings = {{"PLINTH_ISA", "bad"}}});
  const json v2 = RunJson(arguments, {.settings = {{"PLINTH_ISA", "v2"}}});
  const RunResult run = Run(arguments, {.settings = {{"PLINTH_ISA", "v3"}}});
  if (run.exit_code == 3) GTEST_SKIP() << run.err;
  const json v3 = json::parse(run.out);
  EXPECT_NE(v2["identity"], v3["identity"]);  // other bits, hence another identity
  for (size_t h = 0; h < 96; ++h) {
    // Products of f32 in another order: a few units in the last of 24 bits, over four layers.
    EXPECT_NEAR(v2["items"][0]["mean"][h].get<double>(), v3["items"][0]["mean"][h].get<double>(), 1e-3);
  }
}

}  // namespace
}  // namespace plinth::cli
