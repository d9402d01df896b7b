// The checked file is the one that is loaded: real shared objects, whose constructors leave a mark,
// in a fake cache.
#include "engine/gemm/library_file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "engine/model/sha256.h"

namespace engine {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class LibraryFileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string folder = (fs::path(::testing::TempDir()) / "library_file_XXXXXX").string();
    ASSERT_NE(::mkdtemp(folder.data()), nullptr);
    root_ = folder;
    library_ = root_ / "cache/cublas/13.0.0.1/lib/libcublasLt.so.13";
    fs::create_directories(library_.parent_path());
    fs::copy_file(MARKER_LIBRARY, library_);
    fs::permissions(library_, fs::perms(0644));
    places_.cache_folder = (root_ / "cache").string();
    hash_ = hash(MARKER_LIBRARY);
    pins_ = {{"13.0.0.1", hash_, "a test"}};
    ::setenv("MARKER_FILE", (root_ / "marker").c_str(), 1);
  }
  void TearDown() override { fs::remove_all(root_); }

  static std::string hash(const std::string& path) {
    const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    const Result<std::string> text = sha256_of(descriptor);
    ::close(descriptor);
    return text.ok() ? text.value() : text.error().message;
  }
  std::string hash_of_text(const std::string& text) {
    std::ofstream(root_ / "text") << text;
    return hash((root_ / "text").string());
  }
  Result<LibraryFile> open() { return LibraryFile::open(library_.string(), places_, pins_); }
  /// Other bytes of the same length.
  void change_bytes() {
    std::fstream file(library_, std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(-1, std::ios::end);
    const char last = static_cast<char>(file.get());
    file.seekp(-1, std::ios::end);
    file.put(static_cast<char>(last ^ 1));
  }
  bool marked() const { return fs::exists(root_ / "marker"); }

  fs::path root_;
  fs::path library_;
  CublasLtPlaces places_;
  std::string hash_;
  std::vector<PinnedLibrary> pins_;
};

TEST_F(LibraryFileTest, HashesAsPublished) {
  // FIPS 180-4's examples, and every length around the ends of blocks.
  EXPECT_EQ(hash_of_text(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(hash_of_text("abc"),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(hash_of_text("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(hash_of_text(std::string(1'000'000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
  EXPECT_EQ(hash_of_text(std::string(55, 'a')),
            "9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318");
  EXPECT_EQ(hash_of_text(std::string(64, 'a')),
            "ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb");
}

TEST_F(LibraryFileTest, IsHashedOnceAndThenKnown) {
  const Result<LibraryFile> first = open();
  ASSERT_TRUE(first.ok()) << first.error().message;
  EXPECT_TRUE(first.value().hashed());
  const Result<LibraryFile> second = open();
  ASSERT_TRUE(second.ok()) << second.error().message;
  EXPECT_FALSE(second.value().hashed());
}

TEST_F(LibraryFileTest, ChangedBytesAreFoundEvenIfSizeAndTimeAreRestored) {
  ASSERT_TRUE(open().ok());
  const fs::file_time_type before = fs::last_write_time(library_);
  change_bytes();
  fs::last_write_time(library_, before);
  const Result<LibraryFile> again = open();
  ASSERT_FALSE(again.ok());
  EXPECT_EQ(again.error().code, ErrorCode::InvalidArgument);
  EXPECT_THAT(again.error().message, HasSubstr(library_.string()));
  EXPECT_THAT(again.error().message, HasSubstr("expertscope doctor fetch 13.0.0.1"));
  EXPECT_FALSE(marked());
}

TEST_F(LibraryFileTest, TheSameBytesInAnotherFileAreHashedAgain) {
  ASSERT_TRUE(open().ok());
  const fs::path copy = library_.string() + ".copy";
  fs::copy_file(library_, copy);
  fs::last_write_time(copy, fs::last_write_time(library_));
  fs::rename(copy, library_);
  const Result<LibraryFile> again = open();
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_TRUE(again.value().hashed());
}

TEST_F(LibraryFileTest, ANoteWritableByOthersIsIgnored) {
  ASSERT_TRUE(open().ok());
  fs::permissions(root_ / "cache/cublas/13.0.0.1/checked", fs::perms(0666));
  const Result<LibraryFile> again = open();
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_TRUE(again.value().hashed());
}

TEST_F(LibraryFileTest, AFileWritableByOthersIsRefused) {
  fs::permissions(library_, fs::perms(0666));
  const Result<LibraryFile> refused = open();
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message, HasSubstr("mode 666"));
}

TEST_F(LibraryFileTest, AnUnknownVersionInTheCacheIsRefused) {
  pins_.clear();
  const Result<LibraryFile> refused = open();
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message, HasSubstr("13.0.0.1"));
  EXPECT_THAT(refused.error().message, HasSubstr("--cublaslt"));
}

TEST_F(LibraryFileTest, LinksDoNotBypassTheCheck) {
  pins_ = {{"13.0.0.1", "not its hash", "a test"}};
  fs::create_symlink(library_, root_ / "link.so");
  EXPECT_FALSE(LibraryFile::open((root_ / "link.so").string(), places_, pins_).ok());
  const fs::path dots = root_ / "cache/cublas/../cublas/13.0.0.1/lib/libcublasLt.so.13";
  EXPECT_FALSE(LibraryFile::open(dots.string(), places_, pins_).ok());
  // And out of the cache: of the file, and of its folder.
  fs::remove(library_);
  fs::create_symlink(OTHER_MARKER_LIBRARY, library_);
  EXPECT_FALSE(open().ok());
  fs::remove_all(root_ / "cache/cublas/13.0.0.1");
  fs::create_directories(root_ / "elsewhere/lib");
  fs::copy_file(OTHER_MARKER_LIBRARY, root_ / "elsewhere/lib/libcublasLt.so.13");
  fs::create_directory_symlink(root_ / "elsewhere", root_ / "cache/cublas/13.0.0.1");
  EXPECT_FALSE(open().ok());
}

TEST_F(LibraryFileTest, NonRegularFilesAreRefusedAtOnce) {
  const std::string pipe = (root_ / "pipe").string();
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  for (const std::string& path : {pipe, root_.string(), std::string("/dev/null")}) {
    const Result<LibraryFile> refused = LibraryFile::open(path, places_, pins_);
    ASSERT_FALSE(refused.ok()) << path;
    EXPECT_THAT(refused.error().message, HasSubstr("regular file"));
  }
  const Result<LibraryFile> none = LibraryFile::open("/nowhere/lib.so", places_, pins_);
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().code, ErrorCode::NotFound);
}

// Each in a separate process: a library loaded once stays loaded, and its mark is not made twice.

TEST_F(LibraryFileTest, LoadsTheCheckedFileEvenIfReplacedMeanwhile) {
  EXPECT_EXIT(
      {
        Result<LibraryFile> file = open();
        // The swap between check and load.
        const fs::path other = library_.string() + ".other";
        fs::copy_file(OTHER_MARKER_LIBRARY, other);
        fs::rename(other, library_);
        Result<void*> loaded = file.value().load();
        if (!loaded.ok()) std::_Exit(3);
        std::ifstream mark(root_ / "marker");
        const std::string who((std::istreambuf_iterator<char>(mark)), {});
        std::_Exit(who == "first" ? 0 : 4);
      },
      ::testing::ExitedWithCode(0), "");
}

TEST_F(LibraryFileTest, TwoLibrariesStayDistinctWhateverTheirDescriptors) {
  EXPECT_EXIT(
      {
        Result<void*> first = LibraryFile::open(MARKER_LIBRARY).value().load();
        Result<void*> second = LibraryFile::open(OTHER_MARKER_LIBRARY).value().load();
        const bool apart = first.ok() && second.ok() && first.value() != second.value();
        std::_Exit(apart ? 0 : 3);
      },
      ::testing::ExitedWithCode(0), "");
}

TEST_F(LibraryFileTest, OpeningRunsNoneOfItsCode) {
  ASSERT_TRUE(open().ok());
  ASSERT_TRUE(LibraryFile::open(MARKER_LIBRARY, places_, pins_).ok());
  EXPECT_FALSE(marked());
}

}  // namespace
}  // namespace engine
