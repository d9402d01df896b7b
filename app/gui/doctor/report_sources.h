// Which captured graph the views show: the run's, an opened file's, or a visit's. A new one is
// shown at once; after that the user chooses.
#pragma once

#include <string>
#include <vector>

#include "app/gui/controls/panel_context.h"
#include "app/gui/graph/graph_scene.h"

namespace app {

struct ReportSource {
  std::string key;    // "run", "file", "now", "visit 3": stable as long as the source exists
  std::string label;  // as displayed
  GraphScene::Report report;
  GraphScene::Run run;          // supplies node durations; null = not known
  GraphScene::Request request;  // the step's request; null = not known
};

class ReportSources {
 public:
  void follow(const SessionView& view);
  const std::vector<ReportSource>& all() const { return all_; }
  /// Null if there is none.
  const ReportSource* chosen() const;
  int index() const;
  void choose(int index);

 private:
  std::vector<ReportSource> all_;
  std::string key_;
  std::size_t visits_ = 0;
  std::string session_path_;
  int files_opened_ = 0;
  bool busy_ = false;
};

}  // namespace app
