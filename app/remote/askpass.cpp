// expertscope-askpass: ssh starts it when it has a question. It passes the question on to the
// program that started ssh, and prints the answer.
#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <string>

#include "app/remote/question_pipes.h"

namespace {

constexpr int kNotAnswered = 1;

/// The whole text, up to its zero byte; empty when the other side is gone.
std::string read_text(int pipe) {
  std::string text;
  char byte = 0;
  while (::read(pipe, &byte, 1) == 1) {
    if (byte == '\0') return text;
    text += byte;
  }
  return {};
}

bool send(int pipe, char kind, const std::string& text) {
  const std::string message = kind + text + '\0';
  return ::write(pipe, message.data(), message.size()) == static_cast<ssize_t>(message.size());
}

/// Such as a request to touch a security key: ssh waits for no answer, and ends this program with
/// SIGTERM when the key was touched.
int show(int pipe, const std::string& text) {
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGTERM);
  sigaddset(&ends, SIGINT);
  sigaddset(&ends, SIGHUP);
  ::sigprocmask(SIG_BLOCK, &ends, nullptr);
  if (!send(pipe, app::kShows, text)) return kNotAnswered;
  int signal = 0;
  ::sigwait(&ends, &signal);
  return send(pipe, app::kShows, "") ? 0 : kNotAnswered;
}

}  // namespace

int main(int argc, char** argv) {
  const char* kind = std::getenv("SSH_ASKPASS_PROMPT");
  const bool shown = kind != nullptr && std::strcmp(kind, "none") == 0;
  const char* folder = std::getenv(app::kQuestionFolder);
  if (folder == nullptr || argc < 2) return kNotAnswered;
  const std::string place = std::string(folder) + '/';
  const int questions = ::open((place + app::kQuestionPipe).c_str(), O_WRONLY | O_CLOEXEC);
  if (shown) return show(questions, argv[1]);
  const int answers = ::open((place + app::kAnswerPipe).c_str(), O_RDONLY | O_CLOEXEC);
  if (answers < 0 || !send(questions, app::kAsks, argv[1])) return kNotAnswered;
  std::string answer = read_text(answers);
  if (answer.empty() || answer.front() != app::kAnswered) return kNotAnswered;
  answer += '\n';
  const bool printed = ::write(STDOUT_FILENO, answer.data() + 1, answer.size() - 1) > 0;
  ::explicit_bzero(answer.data(), answer.size());
  return printed ? 0 : kNotAnswered;
}
