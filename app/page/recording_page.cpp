#include "app/page/recording_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>
#include <vector>

#include "app/doctor/report_document.h"
#include "app/page/html_page.h"
#include "app/page/run_pictures.h"
#include "app/page/visit_pictures.h"
#include "engine/input/value_json.h"
#include "engine/model/leaves.h"
#include "engine/model/path_text.h"
#include "engine/model/paths.h"
#include "engine/model/text.h"
#include "profiling/document/run_document.h"

namespace app {
namespace {

using profiling::RecordedRun;

constexpr std::size_t kFullRuns = 40;        // runs that are shown in full
constexpr std::size_t kRoomOfRun = 200'000;  // bytes

void write_run(const profiling::NamedRun& named, bool with_paths, HtmlPage& page) {
  const RecordedRun& run = *named.run;
  page.heading(2, named.name);
  page.paragraph(profiling::date_text(run.wall_clock_ms));
  if (!page.has_room(kRoomOfRun)) {
    return page.paragraph("Its charts and tables do not fit into this page.");
  }
  page.document(profiling::run_document(run, {}), 0, [&] { write_run_pictures(run, page); });
  page.details("The request", [&] {
    page.code(engine::to_json_text(with_paths ? run.request : engine::without_folders(run.request),
                                   true));
  });
}

void write_comparison(const profiling::RecordedComparison& recorded, HtmlPage& page) {
  page.heading(2,
               recorded.comparison.request.series ? "Recipes over steps" : "Recipes side by side");
  page.paragraph(profiling::date_text(recorded.wall_clock_ms));
  page.document(profiling::comparison_document(recorded));
}

void write_visit(const profiling::RecordedVisit& recorded, HtmlPage& page) {
  const profiling::DoctorReport& report = recorded.report;
  page.heading(2, "Graph doctor: " + report.snapshot.subject);
  page.paragraph(profiling::date_text(recorded.wall_clock_ms));
  page.paragraph(report.conclusion);
  write_visit_pictures(report, page);
  page.document(report_document(report), /*deeper=*/1);
}

bool is_path(std::string_view field) {
  const engine::RunRequest request;
  const engine::FoundLeaf leaf =
      engine::find_leaf(engine::kType<engine::RunRequest>, &request, field);
  return leaf.field != nullptr && leaf.field->rules.path;
}

/// Every path of what is shown: sentences of workers and of the doctor quote them.
std::vector<PrivateValue> private_values(const PageContent& content) {
  std::set<std::string> paths;
  const auto add = [&paths](const std::string& path) { paths.insert(path); };
  for (const profiling::NamedRun& named : content.runs) {
    engine::for_each_path(*named.run, add);
    for (const engine::Deviation& one : named.run->result.deviations) {
      if (!is_path(one.field)) continue;
      add(one.requested);
      add(one.effective);
    }
  }
  for (const profiling::RecordedComparison* one : content.comparisons) {
    engine::for_each_path(*one, add);
  }
  for (const profiling::RecordedVisit* one : content.visits) engine::for_each_path(*one, add);
  std::vector<PrivateValue> values = private_names();
  for (const std::string& path : paths) {
    const std::string shown = engine::without_folders(path);
    values.push_back({.value = path, .shown = shown});
    // As a sentence quotes what would not be safe to print.
    values.push_back({.value = engine::shown_text(path), .shown = shown});
    // And as a message shortens one that is too long to read.
    values.push_back({.value = engine::shown_path(path), .shown = shown});
    values.push_back({.value = engine::shown_text(engine::shown_path(path)), .shown = shown});
  }
  return values;
}

}  // namespace

std::string recording_page(const PageContent& content, const std::string& title, bool with_paths) {
  HtmlPage page(title, with_paths ? std::vector<PrivateValue>() : private_values(content));
  const auto& runs = content.runs;
  const auto counted = [](std::size_t n, const char* one, const char* many) {
    return fmt::format("{} {}", n, n == 1 ? one : many);
  };
  page.paragraph(
      counted(runs.size(), "run, ", "runs, ") +
      counted(content.comparisons.size(), "comparison of recipes, ", "comparisons of recipes, ") +
      counted(content.visits.size(), "visit to the graph doctor.", "visits to the graph doctor."));
  if (!content.doubt.empty()) {
    // The reasons name files.
    page.warning(
        "The recording may be incomplete: runs may be missing from it and from this page. " +
        (with_paths ? content.doubt : "Whoever opens the recording is told why."));
  }
  page.table(profiling::runs_table(runs));
  for (const profiling::RecordedVisit* visit : content.visits) write_visit(*visit, page);
  for (const profiling::RecordedComparison* one : content.comparisons) write_comparison(*one, page);
  for (std::size_t i = 0; i < std::min(runs.size(), kFullRuns); ++i) {
    write_run(runs[i], with_paths, page);
  }
  if (runs.size() > kFullRuns) {
    page.paragraph(
        fmt::format("{} more runs are only in the table above.", runs.size() - kFullRuns));
  }
  return page.finish();
}

}  // namespace app
