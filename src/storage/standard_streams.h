// The three descriptors that a program begins with, which a daemon or a script may have closed.
#pragma once

namespace bertrain {

// Takes those that are closed, before anything is opened: the next file would get their numbers, and what is
// said or printed would stand in it. A closed input or output stays an error where it is used; what
// would have been said on a closed error stream is dropped.
void take_closed_streams();

}  // namespace bertrain
