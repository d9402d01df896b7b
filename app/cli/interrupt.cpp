#include "app/cli/interrupt.h"

namespace app::cli {
namespace {

std::atomic<bool> interrupted = false;
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler may take no lock");

}  // namespace

InterruptWatch::InterruptWatch() {
  interrupted = false;
  struct sigaction action{};
  action.sa_handler = [](int) { interrupted = true; };
  action.sa_flags = static_cast<int>(SA_RESETHAND | SA_RESTART);
  ::sigaction(SIGINT, &action, &before_);
}

InterruptWatch::~InterruptWatch() { ::sigaction(SIGINT, &before_, nullptr); }

const std::atomic<bool>& InterruptWatch::flag() const { return interrupted; }

}  // namespace app::cli
