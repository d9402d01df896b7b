#include "app/cli/doctor_progress.h"
#include "app/cli/terminal.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>

#include "app/doctor/report_words.h"

namespace app::cli {
namespace {

using profiling::NodeState;
using Clock = std::chrono::steady_clock;

constexpr int kBarCells = 16;
constexpr std::size_t kBoardCells = 40;
constexpr std::chrono::milliseconds kStill{300};  // a replay without movement for this long
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

std::string still_line(const VisitProgress& progress, double seconds) {
  const auto running = std::ranges::find(progress.board, NodeState::Running);
  std::string node;
  if (running != progress.board.end()) {
    const auto index = static_cast<int>(running - progress.board.begin());
    node = ", at " + node_title(progress.so_far.snapshot, {0, index});
  }
  return fmt::format("  replay {} still for {:.1f} s{} |{}|", progress.replay, seconds, node,
                     board_line(progress.board, kBoardCells));
}

}  // namespace

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

DoctorProgress::~DoctorProgress() {
  if (visible_) show_line("");
}

void DoctorProgress::show(const VisitProgress& progress) {
  if (!visible_) return;
  const Clock::time_point now = Clock::now();
  if (progress.replay != replay_ || progress.board != board_) {
    replay_ = progress.replay;
    board_ = progress.board;
    moved_ = now;
  }
  if (progress.replay > 0 && now - shown_ < kRedraw) return;
  shown_ = now;
  const int all = std::max(progress.experiments, 1);
  const auto filled =
      static_cast<std::size_t>(kBarCells * std::max(progress.experiment - 1, 0) / all);
  std::string line =
      fmt::format("[{}{}] {} of {}  {}", std::string(filled, '#'),
                  std::string(kBarCells - filled, '.'), progress.experiment, all, progress.doing);
  if (progress.replay > 0 && now - moved_ > kStill) {
    line += still_line(progress, std::chrono::duration<double>(now - moved_).count());
  }
  show_line(line.substr(0, columns_of_terminal()));
}

}  // namespace app::cli
