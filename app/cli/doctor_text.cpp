#include "app/cli/doctor.h"

#include <fmt/format.h>

#include <algorithm>

#include "app/cli/terminal.h"
#include "app/doctor/report_document.h"
#include "app/doctor/report_words.h"
#include "profiling/document/text.h"
#include "profiling/hazards/model/names.h"
#include "profiling/hazards/report/report.h"

namespace app::cli {
namespace {

using profiling::NodeState;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kWidth = 96;     // columns of a report
constexpr std::size_t kMostRows = 64;  // of its tables
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

void print_reports(const std::vector<profiling::DoctorReport>& reports, bool json) {
  const bool list = json && reports.size() > 1;
  for (std::size_t i = 0; i < reports.size(); ++i) {
    if (list) print("{}", i == 0 ? "[\n" : ",\n");
    print("{}{}", json ? profiling::to_json(reports[i]) : report_text(reports[i]),
          list ? "" : "\n");
  }
  if (list) print("\n]\n");
}

std::string report_text(const profiling::DoctorReport& report) {
  profiling::Document document = report_document(report);
  document.paragraph(report.conclusion);  // where the eye is
  return profiling::text_of(
      document, {.width = kWidth, .columns = columns_of_terminal(stdout), .most_rows = kMostRows});
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
  const std::size_t columns = columns_of_terminal(stderr);
  // A line that wraps cannot be erased.
  line_.show(bar.substr(0, columns > 1 ? columns - 1 : kWidth), "experiment " + text);
}

}  // namespace app::cli
