// What a program prints is bounded while it prints, and loses nothing but its middle.
#include "app/attach/bounded_output.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "engine/model/unique_fd.h"

namespace app {
namespace {

constexpr OutputLimits kLimits{.head = 8192, .tail = 10'000};

class BoundedOutput : public testing::Test {
 protected:
  BoundedOutput()
      : folder_((std::filesystem::temp_directory_path() / "output-XXXXXX").string()),
        made_(::mkdtemp(folder_.data()) != nullptr),
        program_(::open(path().c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600)) {}
  ~BoundedOutput() override { std::filesystem::remove_all(folder_); }

  std::string path() const { return folder_ + "/output.txt"; }
  /// As the program does, which knows nothing of the limits.
  void print(int lines) {
    for (int i = 0; i < lines; ++i) {
      const std::string line = "line " + std::to_string(next_++) + "\n";
      ASSERT_EQ(::write(program_.get(), line.data(), line.size()),
                static_cast<ssize_t>(line.size()));
      printed_ += line;
    }
  }
  std::string text() const {
    std::ifstream file(path(), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  std::uint64_t held() const {
    struct stat facts{};
    EXPECT_EQ(::stat(path().c_str(), &facts), 0);
    return static_cast<std::uint64_t>(facts.st_blocks) * 512;
  }

  std::string printed_;

 private:
  std::string folder_;
  bool made_;
  engine::UniqueFd program_;
  int next_ = 0;
};

TEST_F(BoundedOutput, AShortOneIsLeftAlone) {
  print(1000);
  ASSERT_TRUE(bound_output(path(), false, kLimits).ok());
  ASSERT_TRUE(bound_output(path(), true, kLimits).ok());
  EXPECT_EQ(text(), printed_);
  EXPECT_FALSE(output_is_cut(path(), kLimits));
}

TEST_F(BoundedOutput, BeginningAndEndStayAndTheMiddleIsSaidToBeLeftOut) {
  for (int i = 0; i < 40; ++i) {
    print(2000);
    ASSERT_TRUE(bound_output(path(), false, kLimits).ok());
    EXPECT_LE(held(), kLimits.head + 2 * kLimits.tail + 3 * 4096) << i;
  }
  EXPECT_TRUE(output_is_cut(path(), kLimits));
  // The newest lines can be read at any time.
  EXPECT_TRUE(text().ends_with(printed_.substr(printed_.size() - kLimits.tail)));
  ASSERT_TRUE(bound_output(path(), true, kLimits).ok());
  EXPECT_TRUE(output_is_cut(path(), kLimits));
  const std::string kept = text();
  EXPECT_EQ(kept.substr(0, kLimits.head), printed_.substr(0, kLimits.head));
  const std::string tail = printed_.substr(printed_.size() - kLimits.tail);
  EXPECT_EQ(kept.substr(kept.size() - kLimits.tail), tail);
  EXPECT_EQ(kept.substr(kLimits.head, kept.size() - kLimits.head - kLimits.tail),
            "\n[expertscope: the middle of what the program printed is left out here]\n");
  // What a child of the program still prints comes behind it.
  print(1);
  EXPECT_TRUE(text().starts_with(kept));
  EXPECT_EQ(text().size(), kept.size() + printed_.size() - printed_.rfind("line"));
}

TEST_F(BoundedOutput, AFileThatIsGoneIsAnError) {
  EXPECT_FALSE(bound_output(path() + ".gone", false, kLimits).ok());
  EXPECT_FALSE(output_is_cut(path() + ".gone", kLimits));
}

}  // namespace
}  // namespace app
