#include "app/cli/doctor.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <map>

#include "app/cli/terminal.h"
#include "app/doctor/report_words.h"
#include "profiling/hazards/model/names.h"

namespace app::cli {
namespace {

using profiling::DoctorReport;
using profiling::Finding;
using profiling::Verdict;

constexpr std::size_t kWidth = 96;
constexpr std::size_t kShownParts = 12;

/// Wraps words at kWidth with an indent; keeps the text's own line breaks.
std::string wrapped(const std::string& text, const std::string& indent) {
  std::string out;
  std::size_t start = 0;
  while (start <= text.size()) {
    const std::size_t end = std::min(text.find('\n', start), text.size());
    std::string line = text.substr(start, end - start);
    while (line.size() + indent.size() > kWidth) {
      std::size_t space = line.rfind(' ', kWidth - indent.size());
      if (space == std::string::npos || space == 0) space = line.find(' ', 1);
      if (space == std::string::npos) break;
      out += indent + line.substr(0, space) + '\n';
      line.erase(0, space + 1);
    }
    out += indent + line + '\n';
    start = end + 1;
  }
  return out;
}

std::string labelled(const char* label, const std::string& text) {
  if (text.empty()) return {};
  std::string block = wrapped(text, "              ");
  block.replace(2, 12, fmt::format("{:<12}", label));
  return block;
}

std::string upper(std::string_view word) {
  std::string letters(word);
  std::ranges::transform(letters, letters.begin(),
                         [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return letters;
}

std::string head(const profiling::Snapshot& snapshot) {
  std::string text = fmt::format("{:<12}{}\n", "subject", snapshot.subject);
  if (!snapshot.device.empty()) {
    text += fmt::format("{:<12}{}, driver {}\n", "device", snapshot.device, snapshot.driver);
  }
  if (!snapshot.cublaslt_version.empty()) {
    text += fmt::format("{:<12}{}\n", "cuBLASLt", snapshot.cublaslt_version);
  }
  for (const profiling::GraphSnapshot& graph : snapshot.graphs) {
    const std::string variant =
        graph.variant_of < 0 ? "" : fmt::format(", with other {}", graph.changed);
    const std::string refused =
        graph.failure.code == 0 ? "" : fmt::format(", capture failed: {}", graph.failure.name);
    text += fmt::format("{:<12}{}: {} nodes, {} edges{}{}\n", "graph", graph.name,
                        graph.nodes.size(), graph.edges.size(), variant, refused);
  }
  return text;
}

std::string finding_text(const DoctorReport& report, const Finding& finding) {
  std::vector<std::string> nodes;
  for (const profiling::NodeRef node : finding.nodes) {
    nodes.push_back(node_title(report.snapshot, node));
  }
  std::string text = fmt::format("{}  {} (hazard {})\n", upper(name_of(finding.confidence)),
                                 finding.rule, finding.hazard);
  text += wrapped(finding.title, "  ");
  text += labelled("fix", finding.fix.words);
  text += labelled("cuBLASLt", finding.fix.cublaslt);
  text += labelled("PyTorch", finding.fix.pytorch);
  text += labelled("TE", finding.fix.transformer_engine);
  text += labelled("why", finding.explanation);
  text += labelled("nodes", fmt::format("{}", fmt::join(nodes, "\n")));
  text += labelled("order", finding.missing_order);
  text += labelled("evidence", fmt::format("{}", fmt::join(finding.evidence, "\n")));
  text += labelled("test", finding.proof.words);
  return text;
}

/// One sign per replay: "=" right, "x" wrong, "!" where it ended.
std::string signs_of(const profiling::Outcome& outcome) {
  std::map<int, bool> wrong;
  for (const profiling::OutputCheck& check : outcome.checks) {
    wrong[check.replay] = wrong[check.replay] || !check.wrong_parts.empty();
  }
  std::string signs;
  for (const auto& [replay, is_wrong] : wrong) signs += is_wrong ? 'x' : '=';
  if (outcome.verdict == Verdict::Hung || outcome.verdict == Verdict::Crashed) signs += '!';
  return signs;
}

/// The outputs and experts of the first wrong replay.
std::string wrong_parts(const profiling::Outcome& outcome) {
  const int first = profiling::first_wrong_replay(outcome);
  std::string text;
  for (const profiling::OutputCheck& check : outcome.checks) {
    if (check.replay != first || check.wrong_parts.empty()) continue;
    text += fmt::format("      replay {}: {}", first, check.output);
    if (check.parts > 1) {
      const std::size_t shown = std::min(check.wrong_parts.size(), kShownParts);
      text += fmt::format(
          ", {} of {} experts wrong ({}{})", check.wrong_parts.size(), check.parts,
          fmt::join(check.wrong_parts.begin(),
                    check.wrong_parts.begin() + static_cast<std::ptrdiff_t>(shown), " "),
          shown < check.wrong_parts.size() ? " ..." : "");
    }
    text += '\n';
  }
  return text;
}

std::string stall_text(const DoctorReport& report, const profiling::Stall& stall) {
  std::string text = fmt::format("replay {} exceeded its {}: {}", stall.replay,
                                 profiling::deadline_text(stall), name_of(stall.kind));
  if (stall.last_finished >= 0) {
    text += "; last finished: " +
            node_title(report.snapshot, {.graph = stall.graph, .node = stall.last_finished});
  }
  for (std::size_t node = 0; node < stall.nodes.size(); ++node) {
    if (stall.nodes[node] != profiling::NodeState::Running) continue;
    text += "; running: " +
            node_title(report.snapshot, {.graph = stall.graph, .node = static_cast<int>(node)});
  }
  if (!stall.evidence.empty()) text += " (" + stall.evidence + ")";
  if (!stall.core_dump.empty()) text += "; core dump: " + stall.core_dump;
  return wrapped(text, "      ");
}

std::string experiments_text(const DoctorReport& report) {
  std::string text =
      fmt::format("{:<54} {:<8} {:<10} {:>7}\n", "experiment", "outcome", "replays", "seconds");
  for (const profiling::ExperimentRecord& record : report.experiments) {
    std::string title = record.title;
    if (title.size() > 54) title = title.substr(0, 51) + "...";
    text += fmt::format("{:<54} {:<8} {:<10} {:>7.1f}\n", title, name_of(record.outcome.verdict),
                        signs_of(record.outcome), record.outcome.seconds);
    if (!record.outcome.message.empty()) text += wrapped(record.outcome.message, "      ");
    text += wrong_parts(record.outcome);
    for (const profiling::Stall& stall : record.outcome.stall) text += stall_text(report, stall);
  }
  return text;
}

// ---- Progress ----------------------------------------------------------------------------------

using profiling::NodeState;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kBarCells = 16;
constexpr std::size_t kBoardCells = 40;
constexpr std::chrono::milliseconds kStill{300};  // a replay without progress for this long
constexpr std::chrono::milliseconds kRedraw{100};

char letter_of(NodeState state) {
  switch (state) {
    case NodeState::Done:
      return '#';
    case NodeState::Running:
      return '>';
    case NodeState::NotReached:
      return '.';
    case NodeState::Unmarked:
      break;
  }
  return ' ';
}

/// The furthest behind is what a reader looks for.
int rank(NodeState state) {
  return state == NodeState::Running      ? 3
         : state == NodeState::NotReached ? 2
         : state == NodeState::Done       ? 1
                                          : 0;
}

/// A line that wraps cannot be erased.
std::size_t columns_of_terminal() {
  struct winsize size = {};
  const bool known = ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1;
  return known ? size.ws_col - 1U : 79U;
}

/// "##>...": one letter per node, at most `cells`; a cell of several nodes shows the least
/// advanced.
std::string board_line(const std::vector<NodeState>& board, std::size_t cells) {
  const std::size_t count = std::min(cells, board.size());
  std::string line(count, ' ');
  for (std::size_t cell = 0; cell < count; ++cell) {
    const auto first = board.begin() + static_cast<std::ptrdiff_t>(cell * board.size() / count);
    const auto last =
        board.begin() + static_cast<std::ptrdiff_t>((cell + 1) * board.size() / count);
    line[cell] = letter_of(*std::max_element(
        first, last, [](NodeState left, NodeState right) { return rank(left) < rank(right); }));
  }
  return line;
}

std::string still_line(const VisitProgress& progress, double seconds) {
  const auto running = std::ranges::find(progress.board, NodeState::Running);
  std::string node;
  if (running != progress.board.end()) {
    const auto index = static_cast<int>(running - progress.board.begin());
    node = ", at " + node_title(progress.so_far.snapshot, {0, index});
  }
  return fmt::format("  replay {}: no progress for {:.1f} s{} |{}|", progress.replay, seconds, node,
                     board_line(progress.board, kBoardCells));
}

}  // namespace

std::string report_text(const DoctorReport& report) {
  std::string text = head(report.snapshot);
  for (const Finding& finding : report.findings) text += '\n' + finding_text(report, finding);
  if (!report.experiments.empty()) text += '\n' + experiments_text(report);
  if (const std::string cure = smallest_cure_text(report); !cure.empty()) {
    text += '\n' + wrapped(cure, "");
  }
  if (const std::string cost = marker_cost_text(report); !cost.empty()) {
    text += '\n' + wrapped(cost, "");
  }
  return text + '\n' + wrapped(report.conclusion, "");
}

void DoctorProgress::show(const VisitProgress& progress) {
  const Clock::time_point now = Clock::now();
  if (progress.replay != replay_ || progress.board != board_) {
    replay_ = progress.replay;
    board_ = progress.board;
    moved_ = now;
  }
  if (progress.replay > 0 && now - shown_ < kRedraw) return;
  shown_ = now;
  const int all = std::max(progress.experiments, 1);
  std::string text = fmt::format("{} of {}  {}", progress.experiment, all, progress.doing);
  if (progress.replay > 0 && now - moved_ > kStill) {
    text += still_line(progress, std::chrono::duration<double>(now - moved_).count());
  }
  const double done = (progress.experiment - 1.0) / all;
  const std::string bar = fmt::format("{} {}", bar_text(done, kBarCells), text);
  line_.show(bar.substr(0, columns_of_terminal()), "experiment " + text);
}

}  // namespace app::cli
