// expertscope-askpass: ssh starts it when it has a question. It passes the question on to the
// program that started ssh, and prints the answer.
#include <fcntl.h>
#include <unistd.h>

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

}  // namespace

int main(int argc, char** argv) {
  // Only to be shown, such as a request to touch a security key: ssh waits for no answer.
  const char* kind = std::getenv("SSH_ASKPASS_PROMPT");
  if (kind != nullptr && std::strcmp(kind, "none") == 0) return 0;
  const char* folder = std::getenv(app::kQuestionFolder);
  if (folder == nullptr || argc < 2) return kNotAnswered;
  const std::string place = std::string(folder) + '/';
  const int questions = ::open((place + app::kQuestionPipe).c_str(), O_WRONLY | O_CLOEXEC);
  const int answers = ::open((place + app::kAnswerPipe).c_str(), O_RDONLY | O_CLOEXEC);
  if (questions < 0 || answers < 0) return kNotAnswered;
  const std::size_t length = std::strlen(argv[1]) + 1;  // with its zero byte
  if (::write(questions, argv[1], length) != static_cast<ssize_t>(length)) return kNotAnswered;
  std::string answer = read_text(answers);
  if (answer.empty() || answer.front() != app::kAnswered) return kNotAnswered;
  answer += '\n';
  const bool printed = ::write(STDOUT_FILENO, answer.data() + 1, answer.size() - 1) > 0;
  ::explicit_bzero(answer.data(), answer.size());
  return printed ? 0 : kNotAnswered;
}
