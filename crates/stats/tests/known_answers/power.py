"""The power of the two-sided t test of two groups of n, by integration of the noncentral t distribution."""
import math
def quantile(p,v):
    # quantile by bisection on numeric cdf via integration of t density
    def cdf(x):
        n=4000; h=x/n
        c=math.exp(math.lgamma((v+1)/2)-math.lgamma(v/2))/math.sqrt(v*math.pi)
        f=lambda t:c*(1+t*t/v)**(-(v+1)/2)
        s=f(0)+f(x)+sum((4 if i%2 else 2)*f(i*h) for i in range(1,n))
        return .5+s*h/3
    a,b=0,50
    for _ in range(45):
        m=(a+b)/2
        if cdf(m)<p:a=m
        else:b=m
    return a
phi=lambda z:.5*math.erfc(-z/math.sqrt(2))
def power(delta,n,alpha=.05):
    v=2*(n-1);q=quantile(1-alpha/2,v);ncp=delta*math.sqrt(n/2)
    # P(T>q)= int P(Z+ncp > q*sqrt(w/v)) chi2_v(w); s=sqrt(w/v)
    N=4000;hi=6.0;h=hi/N
    lc=math.log(2)+ (v/2)*math.log(v/2)-math.lgamma(v/2)
    f=lambda s:0 if s<=0 else math.exp(lc+(v-1)*math.log(s)-v*s*s/2)*(1-phi(q*s-ncp))
    return h/3*(f(0)+f(hi)+sum((4 if i%2 else 2)*f(i*h) for i in range(1,N)))
def smallest_difference(n):
    a,b=0,20
    for _ in range(40):
        m=(a+b)/2
        if power(m,n)<.8:a=m
        else:b=m
    return a
for n in (3,5,10,17): print(n,round(smallest_difference(n),6))
def runs_needed(delta):
    a,b=2,200
    for _ in range(40):
        m=(a+b)/2
        if power(delta,m)<.8:a=m
        else:b=m
    return a
for d in (1,.5): print(d,round(runs_needed(d),5))
print("t(4)",round(quantile(.975,4),6),round(quantile(.8,4),6))
