// Shares what the findings look at; docs/environment.md lists every id.
#pragma once

#include <string>
#include <vector>

#include "plinth/evidence/environment.h"
#include "plinth/evidence/pci.h"
#include "plinth/evidence/system_tree.h"
#include "plinth/evidence/tools.h"

namespace plinth::evidence {

class FindingMaker {
 public:
  FindingMaker(const SystemTree& tree, const std::vector<PciFunction>& functions,
               const std::vector<ToolOutput>& outputs, Environment* environment)
      : tree_(tree), functions_(functions), outputs_(outputs), e_(*environment) {}

  // Cards against drivers, nodes, tools and the product table (device_findings.cc).
  void Devices();
  // Versions, variables, tools, libraries and sources against each other (stack_findings.cc).
  void Stack();

 private:
  void Add(std::string_view id, Severity severity, std::string sentence, std::string resolve) {
    e_.findings.push_back({std::string(id), severity, std::move(sentence), std::move(resolve)});
  }
  // Devices of a vendor ("Hygon"), by item.
  std::vector<std::string> Of(std::string_view vendor) const;
  // Whether any device is driven by ROCm or DTK.
  bool HasKfdVendor() const { return !Of("Hygon").empty() || !Of("AMD").empty(); }
  std::string Variable(std::string_view name) const { return e_.Text("variables", "", name); }
  bool Loaded(std::string_view module) const { return e_.Find("drivers", "", module) != nullptr; }

  void HygonCpuFunctions();
  void UnknownProducts();
  void GfxAgreement();
  void ValuesThatDisagree();
  void DriversAndDevices();
  void Nodes();
  void ToolCounts();
  void Hal();

  void ProvesNothing();
  void DtkVersions();
  void NvidiaDriverVersions();
  void FrameworkBuild();
  void Override();
  void FineGrain();
  void VisibleDevices();
  bool LibraryState(const std::string& path);  // whether its targets are known
  void Libraries();
  void Tools();
  void Isa();
  void Sources();

  const SystemTree& tree_;
  const std::vector<PciFunction>& functions_;
  const std::vector<ToolOutput>& outputs_;
  Environment& e_;
};

// "25.04" and "25.04.4" may be one version; "25.04" and "26.04" are not.
bool VersionsMayAgree(std::string_view a, std::string_view b);

}  // namespace plinth::evidence
