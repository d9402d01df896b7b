#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>

#include "profiling/hazards/model/names.h"
#include "profiling/hazards/report/report.h"

namespace profiling {
namespace {

constexpr std::size_t kMaxRows = 32;  // for accesses and wrong outputs
constexpr int kMaxStallColumns = 16;  // in the table of replays

/// Text of a table cell: one line, no column separators.
std::string cell(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  std::replace(text.begin(), text.end(), '|', '/');
  return text;
}

class Document {
 public:
  template <class... Args>
  void line(fmt::format_string<Args...> form, Args&&... args) {
    fmt::format_to(std::back_inserter(text), form, std::forward<Args>(args)...);
    text += '\n';
  }
  void blank() { text += '\n'; }
  void code(const char* heading, const char* language, const std::string& lines) {
    if (lines.empty()) return;
    line("{}:\n\n```{}\n{}\n```\n", heading, language, lines);
  }
  std::string text;
};

std::string node_text(const Snapshot& snapshot, NodeRef node) {
  const bool known =
      node.graph >= 0 && static_cast<std::size_t>(node.graph) < snapshot.graphs.size();
  if (!known || snapshot.graphs.size() == 1) return fmt::format("node {}", node.node);
  return fmt::format("node {} of \"{}\"", node.node,
                     snapshot.graphs[static_cast<std::size_t>(node.graph)].name);
}

void write_subject(Document& document, const Snapshot& snapshot) {
  document.line("| | |\n|---|---|");
  const auto row = [&](const char* name, const std::string& value) {
    if (!value.empty()) document.line("| {} | {} |", name, cell(value));
  };
  row("examined", snapshot.subject);
  row("device", snapshot.device);
  row("driver", snapshot.driver);
  row("cuBLASLt", snapshot.cublaslt_version);
  for (const GraphSnapshot& graph : snapshot.graphs) {
    std::string value = fmt::format("{} nodes, {} edges", graph.nodes.size(), graph.edges.size());
    if (graph.variant_of >= 0)
      value += fmt::format(", captured again with other {}", graph.changed);
    if (graph.degraded) value += ", from a text file: no arguments, no memory";
    if (graph.failure.code != 0) {
      value += fmt::format(", refused: {} ({})", graph.failure.name, graph.failure.code);
    }
    row(("graph \"" + cell(graph.name) + "\"").c_str(), value);
  }
  document.blank();
}

void write_finding(Document& document, const Snapshot& snapshot, std::size_t number,
                   const Finding& finding) {
  document.line("### {}. {} ({})\n", number, finding.title, name_of(finding.confidence));
  document.line("Rule `{}`, hazard {}.\n", finding.rule, finding.hazard);
  document.line("**What to do.** {}\n", finding.fix.words);
  document.code("cuBLASLt", "cpp", finding.fix.cublaslt);
  document.code("PyTorch", "python", finding.fix.pytorch);
  document.code("Transformer Engine", "python", finding.fix.transformer_engine);
  document.line("**Why.** {}\n", finding.explanation);
  if (!finding.missing_order.empty()) document.line("Missing: {}.\n", finding.missing_order);
  for (const std::string& evidence : finding.evidence) document.line("- {}", evidence);
  if (!finding.evidence.empty()) document.blank();
  if (!finding.accesses.empty()) {
    document.line("| node | where | address | memory | offset |\n|---|---|---|---|---|");
    for (std::size_t i = 0; i < finding.accesses.size() && i < kMaxRows; ++i) {
      const Access& access = finding.accesses[i];
      document.line("| {} | {} | {:#x} | {} | {} |", cell(node_text(snapshot, access.node)),
                    access.place, access.word, cell(access.owner), access.offset);
    }
    if (finding.accesses.size() > kMaxRows) {
      document.line("\n{} more.", finding.accesses.size() - kMaxRows);
    }
    document.blank();
  }
  document.line("How it is tested: {}\n", finding.proof.words);
}

/// "right" or the outputs with wrong parts; "-" = the replay was not reached.
std::string replay_text(const Outcome& outcome, int replay) {
  bool seen = false;
  std::vector<std::string> wrong;
  for (const OutputCheck& check : outcome.checks) {
    if (check.replay != replay) continue;
    seen = true;
    if (!check.wrong_parts.empty()) wrong.push_back(check.output);
  }
  if (!outcome.stall.empty() && outcome.stall.front().replay == replay) return "hung";
  if (!seen) return "-";
  return wrong.empty() ? "right" : fmt::format("wrong: {}", fmt::join(wrong, ", "));
}

void write_experiments(Document& document, const std::vector<ExperimentRecord>& experiments) {
  int replays = 0;
  for (const ExperimentRecord& record : experiments) {
    for (const OutputCheck& check : record.outcome.checks)
      replays = std::max(replays, check.replay);
    // An ordinary run may stall in any replay: one column each would be mostly empty.
    for (const Stall& stall : record.outcome.stall) {
      if (stall.replay <= kMaxStallColumns) replays = std::max(replays, stall.replay);
    }
  }
  replays = std::clamp(replays, 0, static_cast<int>(kMaxRows));
  std::string head = "| experiment | outcome |";
  std::string rule = "|---|---|";
  for (int replay = 1; replay <= replays; ++replay) {
    head += fmt::format(" replay {} |", replay);
    rule += "---|";
  }
  document.line("## Experiments\n\n{}\n{}", head, rule);
  for (const ExperimentRecord& record : experiments) {
    std::string row = fmt::format("| {} | {}", cell(record.title), name_of(record.outcome.verdict));
    if (!record.outcome.message.empty()) row += ": " + cell(record.outcome.message);
    row += " |";
    for (int replay = 1; replay <= replays; ++replay) {
      row += fmt::format(" {} |", cell(replay_text(record.outcome, replay)));
    }
    document.line("{}", row);
  }
  document.blank();
}

void write_stalls(Document& document, const DoctorReport& report) {
  for (const ExperimentRecord& record : report.experiments) {
    for (const Stall& stall : record.outcome.stall) {
      document.line("## Stall of \"{}\"\n", record.title);
      document.line("- replay {}, {}", stall.replay, deadline_text(stall));
      document.line("- {}: {}", name_of(stall.kind), stall.evidence);
      if (stall.last_finished >= 0) {
        document.line(
            "- finished last: {}",
            node_text(report.snapshot, {.graph = stall.graph, .node = stall.last_finished}));
      }
      for (std::size_t node = 0; node < stall.nodes.size(); ++node) {
        if (stall.nodes[node] != NodeState::Running) continue;
        document.line(
            "- running: {}",
            node_text(report.snapshot, {.graph = stall.graph, .node = static_cast<int>(node)}));
      }
      if (stall.nodes.empty()) document.line("- no markers, so nodes are unknown");
      if (!stall.core_dump.empty()) document.line("- core dump: {}", stall.core_dump);
      document.blank();
    }
  }
}

void write_wrong_parts(Document& document, const std::vector<ExperimentRecord>& experiments) {
  std::size_t rows = 0;
  for (const ExperimentRecord& record : experiments) {
    for (const OutputCheck& check : record.outcome.checks) {
      if (check.wrong_parts.empty()) continue;
      if (rows == 0) {
        document.line(
            "Wrong parts (experts):\n\n| experiment | replay | output | parts "
            "|\n|---|---|---|---|");
      }
      if (++rows > kMaxRows) continue;
      document.line("| {} | {} | {} | {} of {}: {} |", cell(record.title), check.replay,
                    cell(check.output), check.wrong_parts.size(), check.parts,
                    fmt::join(check.wrong_parts, ", "));
    }
  }
  if (rows > kMaxRows) document.line("\n{} more.", rows - kMaxRows);
  if (rows > 0) document.blank();
}

}  // namespace

std::string to_markdown(const DoctorReport& report) {
  Document document;
  document.line("# Graph doctor\n");
  if (!report.conclusion.empty()) document.line("{}\n", report.conclusion);
  if (!report.smallest_cure.empty()) {
    document.line("Smallest cure: separate memory for\n");
    for (const MovedMemory& moved : report.smallest_cure) {
      document.line("- {}, in place of \"{}\"", node_text(report.snapshot, moved.node),
                    moved.owner);
    }
    document.blank();
  }
  write_subject(document, report.snapshot);
  document.line("## Findings\n");
  if (report.findings.empty()) document.line("None.\n");
  for (std::size_t i = 0; i < report.findings.size(); ++i) {
    write_finding(document, report.snapshot, i + 1, report.findings[i]);
  }
  if (!report.experiments.empty()) {
    write_experiments(document, report.experiments);
    write_stalls(document, report);
    write_wrong_parts(document, report.experiments);
  }
  return document.text;
}

}  // namespace profiling
