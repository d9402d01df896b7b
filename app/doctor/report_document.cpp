#include "app/doctor/report_document.h"
#include "app/doctor/opened_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "app/doctor/report_words.h"
#include "engine/model/counted.h"
#include "profiling/document/columns.h"
#include "profiling/document/markdown.h"
#include "profiling/hazards/model/names.h"
#include "profiling/hazards/report/report.h"
#include "profiling/hazards/snapshot/compared_memory.h"
#include "profiling/trace/statistics.h"

namespace app {
namespace {

using profiling::column;
using profiling::ColumnUse;
using profiling::DoctorReport;
using profiling::Document;
using profiling::ExperimentRecord;
using profiling::Finding;
using profiling::Fix;
using profiling::for_files;
using profiling::for_people;
using profiling::Measure;
using profiling::Outcome;
using profiling::Snapshot;
using profiling::Table;

constexpr std::size_t kShownParts = 12;
constexpr std::size_t kShownGraphs = 16;  // a serving engine captures one per batch size

std::string graph_text(const profiling::GraphSnapshot& graph) {
  std::string text =
      fmt::format("{}: {}, {}", graph.name, engine::counted(graph.nodes.size(), "node"),
                  engine::counted(graph.edges.size(), "edge"));
  if (graph.variant_of >= 0) text += fmt::format(", captured again with other {}", graph.changed);
  if (graph.degraded) text += ", from a text file: no arguments, no memory";
  if (graph.launches >= 0) {
    text += fmt::format(", launched {}", engine::counted(graph.launches, "time"));
  }
  if (graph.over) text += ", destroyed";
  if (graph.failure.code != 0) {
    text += fmt::format(", capture failed: {} ({})", graph.failure.name, graph.failure.code);
  }
  return text;
}

void add_subject(const Snapshot& snapshot, Document& document) {
  const auto fact = [&document](const char* label, const std::string& text) {
    if (!text.empty()) document.fact(label, text);
  };
  fact("subject", snapshot.subject);
  fact("device", snapshot.device);
  fact("driver", snapshot.driver);
  fact("cuBLASLt", snapshot.cublaslt_version);
  for (std::size_t g = 0; g < snapshot.graphs.size() && g < kShownGraphs; ++g) {
    const profiling::GraphSnapshot& graph = snapshot.graphs[g];
    fact("graph", graph_text(graph));
    if (!graph.compared.empty())
      fact("memory", fmt::format("{}: {}", graph.name,
                                 words_of(profiling::measured_memory(snapshot, graph))));
  }
  fact("not compared", not_compared_sentence(snapshot));
  if (snapshot.graphs.size() > kShownGraphs) {
    fact("graphs", fmt::format("{} more", snapshot.graphs.size() - kShownGraphs));
  }
}

/// A node, and what captured it if that is known.
std::string title_and_place(const Snapshot& snapshot, profiling::NodeRef node) {
  const std::string place = profiling::capture_place(snapshot, node);
  return node_title(snapshot, node) + (place.empty() ? "" : ", captured at " + place);
}

Table accesses_table(const Snapshot& snapshot, const Finding& finding) {
  return {
      .name = "accesses",
      .columns = {for_people("node"), for_people("where"), for_people("address", Measure::Address),
                  for_people("memory"), for_people("offset, bytes", Measure::Count)},
      .rows = [&snapshot, &finding](const profiling::RowSink& sink) {
        for (const profiling::Access& access : finding.accesses) {
          sink({.cells = profiling::cells_of(node_title(snapshot, access.node), access.place,
                                             access.word, access.owner, access.offset)});
        }
      }};
}

void add_finding(const DoctorReport& report, std::size_t number, Document& document) {
  const Finding& finding = report.findings[number - 1];
  document.heading(3,
                   fmt::format("{}. {} ({})", number, finding.title, name_of(finding.confidence)));
  document.fact("rule", fmt::format("{}, hazard {}", finding.rule, finding.hazard));
  std::vector<std::string> nodes;
  for (const profiling::NodeRef node : finding.nodes) {
    nodes.push_back(title_and_place(report.snapshot, node));
  }
  if (!nodes.empty()) document.fact("nodes", fmt::format("{}", fmt::join(nodes, "\n")));
  if (!finding.missing_order.empty()) document.fact("missing", finding.missing_order);
  const std::string disproved = disproved_text(finding);
  const Fix fix = disproved.empty() ? finding.fix : Fix{.words = disproved};
  if (!fix.words.empty()) document.fact(disproved.empty() ? "fix" : "result", fix.words);
  if (!finding.explanation.empty()) {
    document.fact(disproved.empty() ? "why" : "suspected because", finding.explanation);
  }
  if (!finding.proof.words.empty()) document.fact("test", finding.proof.words);
  document.code({.heading = "cuBLASLt", .language = "cpp", .text = fix.cublaslt});
  document.code({.heading = "PyTorch", .language = "python", .text = fix.pytorch});
  document.code(
      {.heading = "Transformer Engine", .language = "python", .text = fix.transformer_engine});
  document.list(finding.evidence);
  document.table(accesses_table(report.snapshot, finding));
}

/// One sign per replay: "=" right, "x" wrong, "!" where it ended.
std::string signs_of(const Outcome& outcome) {
  std::map<int, bool> wrong;
  for (const profiling::OutputCheck& check : outcome.checks) {
    wrong[check.replay] = wrong[check.replay] || !check.wrong_parts.empty();
  }
  std::string signs;
  for (const auto& [replay, is_wrong] : wrong) signs += is_wrong ? 'x' : '=';
  const bool ended =
      outcome.verdict == profiling::Verdict::Hung || outcome.verdict == profiling::Verdict::Crashed;
  return ended ? signs + '!' : signs;
}

Table wrong_parts_table(const std::vector<ExperimentRecord>& experiments) {
  return {.name = "wrong_parts",
          .title = "Wrong outputs:",
          .columns = {for_people("experiment"), for_people("replay", Measure::Count),
                      for_people("output"), for_people("experts")},
          .rows = [&experiments](const profiling::RowSink& sink) {
            for (const ExperimentRecord& record : experiments) {
              for (const profiling::OutputCheck& check : record.outcome.checks) {
                if (check.wrong_parts.empty()) continue;
                const std::size_t shown = std::min(check.wrong_parts.size(), kShownParts);
                sink({.cells = profiling::cells_of(
                          record.title, check.replay, check.output,
                          fmt::format("{} of {}: {}{}", check.wrong_parts.size(), check.parts,
                                      fmt::join(check.wrong_parts.begin(),
                                                check.wrong_parts.begin() +
                                                    static_cast<std::ptrdiff_t>(shown),
                                                " "),
                                      shown < check.wrong_parts.size() ? " ..." : ""))});
              }
            }
          }};
}

void add_stall(const DoctorReport& report, const ExperimentRecord& record,
               const profiling::Stall& stall, Document& document) {
  document.heading(3, fmt::format("Stall of \"{}\"", record.title));
  document.fact("replay", fmt::format("{}, {}", stall.replay, profiling::deadline_text(stall)));
  if (stall.kind == profiling::StallKind::Unknown && !stall.evidence.empty()) {
    document.fact("known", stall.evidence);
  } else {
    document.fact("kind", fmt::format("{}{}{}", name_of(stall.kind),
                                      stall.evidence.empty() ? "" : ": ", stall.evidence));
  }
  const auto title = [&](int node) {
    return node_title(report.snapshot, {.graph = stall.graph, .node = node});
  };
  if (stall.last_finished >= 0) document.fact("last", "finished: " + title(stall.last_finished));
  for (std::size_t node = 0; node < stall.nodes.size(); ++node) {
    if (stall.nodes[node] != profiling::NodeState::Running) continue;
    const profiling::NodeRef running = {.graph = stall.graph, .node = static_cast<int>(node)};
    document.fact("running", title_and_place(report.snapshot, running));
  }
  if (stall.nodes.empty()) document.fact("nodes", "not known: no markers showed them");
  if (stall.core_dump.empty()) return;
  document.fact("core dump", stall.core_dump);
  if (const std::string place = profiling::core_place_text(stall.core); !place.empty()) {
    document.fact("in it", place);
  }
}

profiling::Tone tone_of(const Outcome& outcome) {
  return outcome.verdict == profiling::Verdict::Right    ? profiling::Tone::Good
         : outcome.verdict == profiling::Verdict::NotRun ? profiling::Tone::Dim
                                                         : profiling::Tone::Bad;
}

}  // namespace

Table experiments_table(const DoctorReport& report) {
  return {
      .name = "experiments",
      .title = examines_attached(report.snapshot) ? "What was seen while it ran:"
                                                  : "Experiments, each in a process of its own:",
      .columns = {column("experiment", Measure::Words, {},
                         "What was changed about the captured graph"),
                  column("outcome", Measure::Words, {},
                         "Against the outputs of eager launches, bit for bit"),
                  column("signs", Measure::Words, "replays", "= right, x wrong, ! did not end"),
                  for_files("replays", Measure::Count),
                  column("finding", Measure::Count, {},
                         "Number of the finding it was made for; none = for the visit as a whole"),
                  column("median_ns", Measure::Time, "median",
                         "Median duration of a replay, by CUDA events", ColumnUse::WideViews),
                  column("took_ns", Measure::Time, "took",
                         "Wall time of its process, including its start", ColumnUse::WideViews)},
      .rows =
          [&report](const profiling::RowSink& sink) {
            for (const ExperimentRecord& one : report.experiments) {
              const std::string signs = signs_of(one.outcome);
              const double median = profiling::quantile(one.outcome.replay_us, 0.5);
              sink({.cells = profiling::cells_of(
                        one.title,
                        profiling::toned(symptom_of(one.experiment, one.outcome),
                                         tone_of(one.outcome)),
                        signs.empty() ? profiling::Cell() : profiling::Cell(signs),
                        one.experiment.replays,
                        one.finding < 0 ? profiling::Cell() : profiling::Cell(one.finding + 1),
                        std::isnan(median) ? profiling::Cell() : profiling::Cell(1e3 * median),
                        1e9 * one.outcome.seconds),
                    .tone = tone_of(one.outcome),
                    .full_name = one.outcome.message.empty()
                                     ? one.title
                                     : one.title + ": " + one.outcome.message});
            }
          },
      .note = "Replays: = right, x wrong, ! did not end."};
}

Document report_document(const DoctorReport& report) {
  Document document;
  add_subject(report.snapshot, document);
  document.paragraph(smallest_cure_text(report));
  document.paragraph(marker_cost_text(report));
  if (!report.known.empty()) {
    document.heading(2, "Known about the loaded libraries");
    document.list(report.known);
  }
  document.heading(2, "Findings");
  if (report.findings.empty()) document.paragraph("None.");
  for (std::size_t i = 0; i < report.findings.size(); ++i) add_finding(report, i + 1, document);
  if (report.experiments.empty()) return document;
  document.heading(2, "Experiments");
  document.table(experiments_table(report));
  document.table(wrong_parts_table(report.experiments));
  for (const ExperimentRecord& record : report.experiments) {
    for (const profiling::Stall& stall : record.outcome.stall) {
      add_stall(report, record, stall, document);
    }
  }
  return document;
}

std::string report_markdown(const DoctorReport& report) {
  Document document;
  document.heading(1, "Graph doctor");
  document.paragraph(report.conclusion);
  document.append(report_document(report));
  return profiling::markdown_of(document);
}

}  // namespace app
