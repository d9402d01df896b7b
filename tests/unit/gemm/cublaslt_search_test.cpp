// The search order of cuBLASLt on a made-up tree of folders.
#include "engine/gemm/library_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace engine {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class CublasLtSearch : public ::testing::Test {
 protected:
  void SetUp() override {
    root_ = fs::path(::testing::TempDir()) / ("cublaslt_search_" + std::to_string(getpid()));
    fs::create_directories(root_);
  }
  void TearDown() override { fs::remove_all(root_); }

  std::string make(const std::string& relative) {
    const fs::path path = root_ / relative;
    fs::create_directories(path.parent_path());
    std::ofstream(path) << "library";
    return path.string();
  }

  fs::path root_;
};

TEST_F(CublasLtSearch, NewestCachedVersionComesFirstByNumberNotByText) {
  const std::string old = make("cache/cublas/13.6.2.16/lib/libcublasLt.so.13");
  const std::string newest = make("cache/cublas/13.10.0.20/lib/libcublasLt.so.13");
  make("cache/cublas/13.9.0.1/include/cublasLt.h");
  CublasLtPlaces places;
  places.cache_folder = (root_ / "cache").string();
  EXPECT_THAT(find_cublaslt_libraries(places), ElementsAre(newest, old));
}

TEST_F(CublasLtSearch, NamedThenNextToTheProgramThenCacheThenSystem) {
  const std::string named = make("mine/libcublasLt.so.13");
  const std::string beside = make("bin/libcublasLt.so.13");
  const std::string cached = make("cache/cublas/13.6.0.2/lib/libcublasLt.so.13");
  const std::string system = make("usr/lib/libcublasLt.so.13");
  const CublasLtPlaces places{.named = named,
                              .executable_folder = (root_ / "bin").string(),
                              .cache_folder = (root_ / "cache").string(),
                              .system_folders = {(root_ / "usr/lib").string()}};
  EXPECT_THAT(find_cublaslt_libraries(places), ElementsAre(named, beside, cached, system));
}

TEST_F(CublasLtSearch, OneFileUnderTwoNamesIsListedOnceAndMissingFilesNever) {
  const std::string real = make("usr/lib/libcublasLt.so.13");
  fs::create_directories(root_ / "other");
  fs::create_symlink(real, root_ / "other/libcublasLt.so.13");
  CublasLtPlaces places;
  places.named = (root_ / "nowhere.so").string();
  places.system_folders = {(root_ / "usr/lib").string(), (root_ / "other").string()};
  EXPECT_THAT(find_cublaslt_libraries(places), ElementsAre(real));
  EXPECT_THAT(find_cublaslt_libraries(CublasLtPlaces{}), IsEmpty());
}

}  // namespace
}  // namespace engine
