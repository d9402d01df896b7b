// How OpenMP's threads wait. Left alone they spin for milliseconds, at every stage of every expert:
// on a machine that also draws the window, a step was measured up to 50 times slower for it.
#pragma once

namespace engine {

/// Starts the program again, once, with OMP_WAIT_POLICY=passive: the OpenMP runtime reads it before
/// main and never again. Same process, same pipes. Returns when a policy is already set, or when
/// the program cannot be started again. First line of a main that uses the CPU backend.
void make_waiting_threads_sleep(char** argv);

}  // namespace engine
