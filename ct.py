import time,sys
import numpy as np
from numba.core import event
tot={}
class L(event.Listener):
    def __init__(s): s.t={} ; s.stack=[]
    def on_start(s,e): s.stack.append((str(e.data.get('dispatcher')),time.perf_counter()))
    def on_end(s,e):
        k,t=s.stack.pop(); d=time.perf_counter()-t; tot[k]=tot.get(k,0)+d
event.register("numba:compile",L())
sys.argv=["t0.py","100","20"]
exec(open("/tmp/w/t0.py").read())
for k,v in sorted(tot.items(),key=lambda x:-x[1])[:25]: print(round(v,2),k[:80])
