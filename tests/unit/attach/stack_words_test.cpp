#include "profiling/attach/observed/stack_words.h"

#include <gtest/gtest.h>

namespace profiling {
namespace {

TEST(StackWords, TheAuthorsCallsComeBeforeLibraries) {
  EXPECT_EQ(
      python_words(
          "/venv/torch/nn/functional.py:10 linear\n/home/me/model.py:42 forward\n"
          "/venv/torch/nn/module.py:1 __call__\n/home/me/train.py:7 step\n<string>:1 <module>\n"),
      "model.py:42 forward, called by train.py:7 step");
}

TEST(StackWords, LibrariesAloneAreBetterThanNothing) {
  EXPECT_EQ(python_words("/venv/torch/a.py:1 f\n/venv/torch/b.py:2 g\n/venv/torch/c.py:3 "
                         "h\n/venv/torch/d.py:4 i\n"),
            "a.py:1 f, called by b.py:2 g, called by c.py:3 h");
  EXPECT_EQ(python_words(""), "");
  EXPECT_EQ(python_words("no colon"), "");
}

TEST(StackWords, CompiledCallsAreNamedByFunctionOrPlace) {
  EXPECT_EQ(native_call("/x/libmodel.so", "_Z3ffnPf", 16), "ffn in libmodel.so");
  EXPECT_EQ(native_call("/x/libmodel.so", "", 0x1234), "libmodel.so+0x1234");
  EXPECT_EQ(native_call("/usr/lib/libcuda.so.1", "cuLaunchKernel", 4), "");
  EXPECT_EQ(native_words({"", "a", "", "b", "c", "d"}), "a, called by b, called by c");
}

/// Symbols of libtorch_cpu.so.
TEST(StackWords, ABackwardPassIsNamedByItsNode) {
  const std::string kernel = native_call("/x/libtorch_cuda.so", "_ZN2at6native3addEv", 8);
  const std::string generated = native_call(
      "/x/libtorch_cpu.so",
      "_ZN5torch8autograd9generated14AddmmBackward05applyEOSt6vectorIN2at6TensorESaIS5_EE", 40);
  EXPECT_EQ(native_words({kernel, generated}), "AddmmBackward0 in autograd's backward pass");
  const std::string sum =
      native_call("/x/libtorch_cpu.so",
                  "_ZN5torch8autograd14AccumulateGrad5applyEOSt6vectorIN2at6TensorESaIS4_EE", 40);
  EXPECT_EQ(native_words({kernel, sum}), "AccumulateGrad in autograd's backward pass");
  // The engine itself is no part of the pass.
  const std::string engine =
      native_call("/x/libtorch_cpu.so", "_ZN5torch8autograd6Engine11thread_mainEv", 40);
  EXPECT_EQ(
      native_words({kernel, engine}),
      "at::native::add in libtorch_cuda.so, called by torch::autograd::Engine::thread_main in "
      "libtorch_cpu.so");
}

}  // namespace
}  // namespace profiling
