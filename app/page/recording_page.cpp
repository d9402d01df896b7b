#include "app/page/recording_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "app/doctor/report_document.h"
#include "app/page/html_page.h"
#include "app/page/run_pictures.h"
#include "app/page/series_pictures.h"
#include "app/page/sweep_picture.h"
#include "app/page/visit_pictures.h"
#include "engine/input/value_json.h"
#include "engine/model/counted.h"
#include "engine/model/leaves.h"
#include "engine/model/path_text.h"
#include "engine/model/paths.h"
#include "engine/model/text.h"
#include "profiling/compare/comparison_tables.h"
#include "profiling/compare/recorded_sweeps.h"
#include "profiling/compare/run_comparison.h"
#include "profiling/document/run_document.h"

namespace app {
namespace {

using profiling::RecordedRun;

constexpr std::size_t kFullRuns = 40;        // runs that are shown in full
constexpr std::size_t kRoomOfRun = 200'000;  // bytes

void write_run(const profiling::NamedRun& named, bool with_paths, HtmlPage& page) {
  const RecordedRun& run = *named.run;
  if (!page.has_room(kRoomOfRun)) {
    return page.paragraph("Its charts and tables do not fit into this page.");
  }
  page.document(profiling::run_document(run, named.settings), 0,
                [&] { write_run_pictures(run, page); });
  page.details("The request", [&] {
    page.code(engine::to_json_text(with_paths ? run.request : engine::without_folders(run.request),
                                   true));
  });
}

void write_sweep(const profiling::RecordedSweep& sweep, HtmlPage& page) {
  const SweepPicture made = sweep_picture(sweep.points, "Accuracy against time");
  page.picture(made.picture, "Accuracy against time", made.note);
  page.table(profiling::sweep_table(sweep.points));
  std::vector<std::string> doubts;
  for (std::size_t i = 0; i < sweep.points.size(); ++i) {
    const profiling::SweepPoint& point = sweep.points[i];
    if (!point.doubt) continue;
    doubts.push_back(
        doubt_words(sweep.points, i, point.label, sweep.points[point.doubt->other].label));
  }
  if (!doubts.empty()) page.details("Why points are undecided", [&] { page.list(doubts); });
}

/// The interleaved measurements among the runs that have both sides, then what was on screen, if
/// that is none of them.
std::vector<PageComparison> comparisons_of(const PageContent& content) {
  profiling::RunList list;
  for (const profiling::NamedRun& one : content.runs) {
    list.emplace_back(std::shared_ptr<const RecordedRun>(), one.run);  // the caller keeps it
  }
  std::vector<PageComparison> all;
  for (const profiling::RunGroupMembers& group : profiling::groups_of(list)) {
    if (group.kind != profiling::GroupKind::Interleaved) continue;
    PageComparison one;
    for (const std::size_t run : group.runs) {
      const bool is_a = list[run]->group.label == "A";
      std::string& name = is_a ? one.a : one.b;
      if (name.empty()) name = content.runs[run].settings;
      (is_a ? one.runs_a : one.runs_b).push_back(list[run]);
    }
    if (!one.runs_a.empty() && !one.runs_b.empty()) all.push_back(std::move(one));
  }
  if (!content.compared) return all;
  const auto same_runs = [](const profiling::RunList& a, const profiling::RunList& b) {
    return std::ranges::equal(
        a, b, {}, [](const auto& run) { return run.get(); },
        [](const auto& run) { return run.get(); });
  };
  const bool listed = std::ranges::any_of(all, [&](const PageComparison& one) {
    return same_runs(one.runs_a, content.compared->runs_a) &&
           same_runs(one.runs_b, content.compared->runs_b);
  });
  if (!listed) all.push_back(*content.compared);
  return all;
}

void write_sides(const PageComparison& compared, HtmlPage& page) {
  if (!page.has_room(kRoomOfRun)) {
    return page.paragraph("Its tables do not fit into this page.");
  }
  const auto side = [](const profiling::RunList& runs) {
    profiling::RunSide pointers;
    for (const auto& run : runs) pointers.push_back(run.get());
    return pointers;
  };
  const profiling::RunSide a = side(compared.runs_a);
  const profiling::RunSide b = side(compared.runs_b);
  const profiling::RunComparison comparison = profiling::compare_runs(a, b, engine::Product::Fprop);
  const profiling::SettingsDifference settings =
      profiling::settings_difference(*a.front(), *b.front());
  profiling::Document document;
  document.fact("A", compared.a);
  document.fact("B", compared.b);
  document.append(profiling::difference_document(comparison, settings));
  page.document(document);
}

void write_comparison(const profiling::RecordedComparison& recorded, HtmlPage& page) {
  page.document(profiling::comparison_document(recorded), 0,
                [&] { write_series_pictures(recorded, page); });
}

void write_visit(const profiling::RecordedVisit& recorded, HtmlPage& page) {
  const profiling::DoctorReport& report = recorded.report;
  page.paragraph(report.conclusion);
  write_visit_pictures(report, page);
  page.document(report_document(report), /*deeper=*/1);
}

/// A part of the page below a heading of its own.
struct Section {
  std::string title;
  std::int64_t wall_clock_ms = 0;
  std::function<void()> write;
};

/// Runs first, in the order of the table above them. `sweeps` and `compared`: those of the content.
std::vector<Section> sections_of(const PageContent& content,
                                 const std::vector<profiling::RecordedSweep>& sweeps,
                                 const std::vector<PageComparison>& compared, bool with_paths,
                                 HtmlPage& page) {
  std::vector<Section> sections;
  for (std::size_t i = 0; i < std::min(content.runs.size(), kFullRuns); ++i) {
    const profiling::NamedRun& named = content.runs[i];
    sections.push_back(
        {.title = named.name,
         .wall_clock_ms = named.run->wall_clock_ms,
         .write = [&named, with_paths, &page] { write_run(named, with_paths, page); }});
  }
  for (const profiling::RecordedSweep& sweep : sweeps) {
    sections.push_back({.title = fmt::format("Sweep of {} runs", sweep.runs.size()),
                        .wall_clock_ms = sweep.id,
                        .write = [&sweep, &page] { write_sweep(sweep, page); }});
  }
  for (const PageComparison& one : compared) {
    const std::size_t runs = one.runs_a.size() + one.runs_b.size();
    sections.push_back({.title = fmt::format("A against B, {} runs", runs),
                        .wall_clock_ms = std::max(one.runs_a.back()->wall_clock_ms,
                                                  one.runs_b.back()->wall_clock_ms),
                        .write = [&one, &page] { write_sides(one, page); }});
  }
  for (const profiling::RecordedComparison* one : content.comparisons) {
    sections.push_back(
        {.title = one->comparison.request.series ? "Recipes over steps" : "Recipes side by side",
         .wall_clock_ms = one->wall_clock_ms,
         .write = [one, &page] { write_comparison(*one, page); }});
  }
  for (const profiling::RecordedVisit* visit : content.visits) {
    sections.push_back({.title = "Graph doctor: " + visit->report.snapshot.subject,
                        .wall_clock_ms = visit->wall_clock_ms,
                        .write = [visit, &page] { write_visit(*visit, page); }});
  }
  return sections;
}

std::string anchor_of(std::size_t section) { return fmt::format("section-{}", section + 1); }

/// `linked`: sections, from the first, that the table of runs leads to.
void write_sections(const std::vector<Section>& sections, std::size_t linked, HtmlPage& page) {
  if (sections.size() > 1 && sections.size() > linked) {
    std::vector<HtmlPage::Link> links;
    for (std::size_t i = linked; i < sections.size(); ++i) {
      links.push_back({anchor_of(i), sections[i].title});
    }
    page.paragraph(linked > 0 ? "Also on this page:" : "On this page:");
    page.contents(links);
  }
  for (std::size_t i = 0; i < sections.size(); ++i) {
    page.heading(2, sections[i].title, anchor_of(i));
    page.paragraph(profiling::date_text(sections[i].wall_clock_ms));
    sections[i].write();
  }
}

/// For somebody who gets the page by mail and does not know the program.
void write_introduction(const PageContent& content, HtmlPage& page) {
  page.paragraph(
      "This page shows what the profiler Expertscope measured of one step of a Mixture-of-Experts "
      "layer: its tensors are quantized, and the rows of each expert are multiplied by its "
      "weights.");
  std::vector<std::string> devices;
  const auto add = [&devices](const std::string& device) {
    if (!device.empty() && std::ranges::find(devices, device) == devices.end())
      devices.push_back(device);
  };
  for (const profiling::NamedRun& one : content.runs) add(one.run->result.device.name);
  for (const auto* one : content.comparisons) add(one->comparison.device.name);
  for (const auto* one : content.visits) add(one->report.snapshot.device);
  if (!devices.empty()) {
    page.paragraph(fmt::format("Measured on {}.", fmt::join(devices, " and ")));
  }
  std::vector<std::string> parts;
  const auto count = [&parts](std::size_t number, const char* one, const char* several) {
    if (number > 0) parts.push_back(engine::counted(number, one, several));
  };
  count(content.runs.size(), "run", "runs");
  count(content.comparisons.size(), "comparison of recipes", "comparisons of recipes");
  count(content.visits.size(), "visit to the graph doctor", "visits to the graph doctor");
  if (parts.empty()) return page.paragraph("The recording is empty.");
  const std::string last = parts.back();
  parts.pop_back();
  page.paragraph(parts.empty() ? fmt::format("It has {}.", last)
                               : fmt::format("It has {} and {}.", fmt::join(parts, ", "), last));
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
  const auto add_run = [&add](const RecordedRun& run) {
    engine::for_each_path(run, add);
    for (const engine::Deviation& one : run.result.deviations) {
      if (!is_path(one.field)) continue;
      add(one.requested);
      add(one.effective);
    }
  };
  for (const profiling::NamedRun& named : content.runs) add_run(*named.run);
  if (content.compared) {
    // A second recording's runs are nowhere else on the page.
    for (const auto* runs : {&content.compared->runs_a, &content.compared->runs_b}) {
      for (const auto& run : *runs) add_run(*run);
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
  write_introduction(content, page);
  if (!content.doubt.empty()) {
    // The reasons name files.
    page.warning(
        "The recording may be incomplete: runs may be missing from it and from this page. " +
        (with_paths ? content.doubt : "Whoever opens the recording is told why."));
  }
  std::vector<const RecordedRun*> measured;
  for (const profiling::NamedRun& one : runs) measured.push_back(one.run);
  const std::vector<profiling::RecordedSweep> sweeps = profiling::sweeps_of(measured);
  const std::vector<PageComparison> compared = comparisons_of(content);
  const std::vector<Section> sections = sections_of(content, sweeps, compared, with_paths, page);
  std::vector<std::string> anchors;  // a single section needs no link: it follows
  for (std::size_t i = 0; sections.size() > 1 && i < std::min(runs.size(), kFullRuns); ++i) {
    anchors.push_back(anchor_of(i));
  }
  page.table(profiling::runs_table(runs), anchors);
  if (runs.size() > kFullRuns) {
    page.paragraph(
        fmt::format("{} more runs are not shown in full on this page.", runs.size() - kFullRuns));
  }
  write_sections(sections, anchors.size(), page);
  return page.finish();
}

}  // namespace app
