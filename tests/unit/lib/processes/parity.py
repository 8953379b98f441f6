"""Scripts that have to do the same, however they were started."""

PARITY: dict[str, str] = {
    "sys.exit(int)": """import sys; sys.exit(41)
""",
    "sys.exit(str)": """import sys; sys.exit('some words')
""",
    "sys.exit(-1)": """import sys; sys.exit(-1)
""",
    "exception": """def f():
    return {}['key']
f()
""",
    "chained exception": """try:
    1/0
except ZeroDivisionError as e:
    raise ValueError('then') from e
""",
    "own excepthook": """import sys
sys.excepthook = lambda t, v, tb: print('hook', t.__name__, tb.tb_lineno)

1/0
""",
    "assert": """assert 1 == 2, 'no'
""",
    "os._exit": """import os; print('lost'); os._exit(5)
""",
    "SIGTERM": """import os; os.kill(os.getpid(), 15)
""",
    "KeyboardInterrupt": """import os, time
os.kill(os.getpid(), 2)
time.sleep(9)
""",
    "atexit": """import atexit
atexit.register(print, 'last')
print('first')
""",
    "thread": """import threading, time
threading.Thread(target=lambda: (time.sleep(0.2), print('late'))).start()
print('main')
""",
    "thread raises": """import threading
t = threading.Thread(target=lambda: 1/0, name='T')
t.start(); t.join()
""",
    "unflushed output": """import sys
sys.stdout.write('x' * 100_000)
""",
    "stderr": """import sys
print('a', file=sys.stderr)
sys.stderr.write('b')
print('ü', file=sys.stderr)
""",
    "bytes and text": """import sys
sys.stdout.buffer.write(b'\\xff\\n')
sys.stdout.write('ü')
""",
    "stdin": """import sys
print(repr(sys.stdin.read()), sys.stdin.fileno())
try:
    input()
except EOFError:
    print('eof')
""",
    "main module": """print(__name__, __file__, __spec__, __package__, __doc__)
print(__builtins__.__name__, __annotations__, __cached__, __loader__.name, __loader__.path)
""",
    "names in main": """print(sorted(globals()))
print(sorted(vars()))
""",
    "arguments": """import sys; print(sys.argv, sys.executable, sys.orig_argv[:0])
""",
    "path": """import sys; print(sys.path[0])
""",
    "sibling import": """import sibling; print(sibling.VALUE, sibling.__file__)
""",
    "session": """import os; print(os.getsid(0) == os.getpid() == os.getpgid(0))
""",
    "folder and environment": """import os
print(os.getcwd(), sorted(name for name in os.environ if name != "ARCHIVEBOX_PROCESS_ID"))
""",
    "environment of children": """import subprocess
print(subprocess.check_output(['sh', '-c', 'echo $DATA_DIR; pwd']))
""",
    "descriptors": """import os
print(len(os.listdir("/proc/self/fd")), sorted(int(fd) for fd in os.listdir("/proc/self/fd"))[:3])
""",
    "signals": """import signal
for number in (2, 13, 15, 17, 25):
    print(number, signal.getsignal(number))
print(signal.pthread_sigmask(signal.SIG_BLOCK, []))
""",
    "multiprocessing": """import multiprocessing

def square(x):
    return x * x

if __name__ == "__main__":
    with multiprocessing.Pool(2) as pool:
        print(pool.map(square, [1, 2, 3]))
""",
    "multiprocessing spawn": """import multiprocessing

def put(queue):
    queue.put("from the child")

if __name__ == "__main__":
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    process = context.Process(target=put, args=(queue,))
    process.start()
    print(queue.get())
    process.join()
""",
    "pickle": """import pickle
class C:
    x = 1
print(type(pickle.loads(pickle.dumps(C()))) is C, C.__module__)
""",
    "getsource": """import inspect
def f():
    return 1  # comment
print(inspect.getsource(f))
""",
    "warnings": """import warnings
warnings.warn('careful', UserWarning)
warnings.warn('no', DeprecationWarning)
""",
    "future import": """from __future__ import annotations
def f(x: nowhere): pass
print(f.__annotations__)
""",
    "encoding cookie": """# -*- coding: latin-1 -*-
print('\\xe9')
""",
    "empty": """""",
    "collector": """import gc
print(gc.isenabled(), gc.get_threshold())
""",
    "streams": """import sys
for stream in (sys.stdout, sys.stderr, sys.__stdout__):
    print(stream.encoding, stream.errors, stream.line_buffering, stream.write_through, stream.name, stream.mode)
    print(stream.newlines, stream.fileno(), stream.isatty(), type(stream.buffer).__name__)
""",
    "broken pipe": """import os
reading, writing = os.pipe()
os.close(reading)
os.write(writing, b"x")
""",
}
